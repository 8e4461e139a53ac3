"""``python -m gemel``: the command ``gemel``."""

from gemel.common.command import main

if __name__ == "__main__":
    main()
