"""Run a script with scikit-learn patched: python -m kseeds.sklearn script.py."""

import sys

from kseeds.sklearn.running import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
