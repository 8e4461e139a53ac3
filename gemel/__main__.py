"""``python -m gemel``: the command ``gemel``."""

from gemel.command import main

if __name__ == "__main__":
    main()
