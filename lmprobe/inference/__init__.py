"""What may be claimed: disparities with intervals, paired comparison, how much data it takes."""
