"""``ready.py PORT``: status 0 if the service on this machine is ready. The images' health check.

Python's own library only: it takes a few hundredths of a second, where a command of Gemel's loads all of it.
"""

import http.client
import sys

probe = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=6)
try:
    probe.request("GET", "/readyz")
    ready = probe.getresponse().status == http.client.OK
except OSError:
    ready = False
sys.exit(0 if ready else 1)
