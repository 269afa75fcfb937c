# lmprobe on a CPU: `docker run lmprobe` probes the bundled model, and any command can follow.
FROM python:3.11-slim

WORKDIR /lmprobe
RUN apt-get update && apt-get install -y --no-install-recommends make && rm -rf /var/lib/apt/lists/*
COPY . .
# The CPU build of torch is on an index of its own; without it pip takes gigabytes of CUDA.
RUN pip install --no-cache-dir --constraint constraints.txt torch \
        --index-url https://download.pytorch.org/whl/cpu \
    && pip install --no-cache-dir --constraint constraints.txt '.[ray]' \
    && touch /usr/local/.ready

# `make probe` takes this Python for the one that it would set up.
ENV VENV=/usr/local LMPROBE_CACHE=/cache HF_HUB_OFFLINE=1
VOLUME ["/cache", "/out"]
ENTRYPOINT ["lmprobe"]
CMD ["run", "--base", "uniform", "--base", "labor", "--output", "/out"]
