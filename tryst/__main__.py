"""``python -m tryst``: the command ``tryst``."""

from tryst.common.command import main

if __name__ == "__main__":
    main()
