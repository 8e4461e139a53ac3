"""A real S3 server on loopback, in a process of its own, that can refuse credentials, stop and come back."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time

import pytest

from gemel.carole.bucket import Bucket

REGION = "us-east-1"


class ObjectStore:
    """An S3 server with one bucket and one user who may use it.

    Attributes
    ----------
    endpoint
        Its URL.
    credentials
        The user's key, in a file.
    """

    def __init__(self, folder):
        self._folder = folder
        self.credentials = folder / "credentials"
        with socket.socket() as found:
            found.bind(("127.0.0.1", 0))
            self._port = int(found.getsockname()[1])
        self.endpoint = f"http://127.0.0.1:{self._port}"
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self):
        """Start it, empty but for the bucket; once the user is made every request needs valid credentials."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self._port)],
            env={**os.environ, "INITIAL_NO_AUTH_ACTION_COUNT": "4"},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self._port)) == 0:
                    break
            assert time.monotonic() < deadline, "the S3 server does not start"
            time.sleep(0.05)
        self._client("s3").create_bucket(Bucket="gemel-bucket")
        iam = self._client("iam")
        iam.create_user(UserName="carole")
        statement = {"Effect": "Allow", "Action": ["s3:*", "iam:*"], "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam.put_user_policy(UserName="carole", PolicyName="all", PolicyDocument=policy)
        key = iam.create_access_key(UserName="carole")["AccessKey"]
        self.key, self.secret = key["AccessKeyId"], key["SecretAccessKey"]
        self.write_credentials(self.key, self.secret)

    def write_credentials(self, key, secret):
        """Into the file."""
        self.credentials.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n")

    def suspend(self):
        """Reachable no more, with all that it has."""
        self._process.send_signal(19)

    def resume(self):
        """Answer again."""
        self._process.send_signal(18)

    def empty(self):
        """Without objects, reachable, and with all rights for the user and the right key in the file."""
        self.resume()
        self.allow("s3:*")
        self.write_credentials(self.key, self.secret)
        for path in self.objects(""):
            self.change(path, None, "")

    def stop(self):
        """End it; what it had is lost."""
        if self._process is not None:
            self._process.send_signal(18)
            self._process.terminate()
            self._process.wait(30)
            self._process = None

    def bucket(self, name="gemel-bucket", prefix="carole"):
        """Where a store's blobs are."""
        return Bucket(f"s3://{name}/{prefix}", self.endpoint, REGION, self.credentials)

    def objects(self, prefix="carole/"):
        """Sizes of the objects, by what follows the prefix."""
        pages = self._client("s3", self.key, self.secret).get_paginator("list_objects_v2")
        found = pages.paginate(Bucket="gemel-bucket", Prefix=prefix)
        return {one["Key"].removeprefix(prefix): one["Size"] for page in found for one in page.get("Contents", [])}

    def content(self, path, prefix="carole/"):
        """The bytes of an object."""
        found = self._client("s3", self.key, self.secret).get_object(Bucket="gemel-bucket", Key=prefix + path)
        return bytes(found["Body"].read())

    def change(self, path, content, prefix="carole/"):
        """Replace an object, or remove it."""
        client, where = self._client("s3", self.key, self.secret), {"Bucket": "gemel-bucket", "Key": prefix + path}
        if content is None:
            client.delete_object(**where)
        else:
            client.put_object(**where, Body=content)

    def allow(self, *actions):
        """What the user may do from now on."""
        statement = {"Effect": "Allow", "Action": [*actions, "iam:*"], "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
        iam = self._client("iam", self.key, self.secret)
        iam.put_user_policy(UserName="carole", PolicyName="all", PolicyDocument=policy)

    def _client(self, service, *key_and_secret):
        import boto3

        key, secret = key_and_secret or ("not", "checked")
        return boto3.client(
            service, endpoint_url=self.endpoint, region_name=REGION, aws_access_key_id=key, aws_secret_access_key=secret
        )


@pytest.fixture(scope="session")
def object_server(tmp_path_factory):
    """An S3 server."""
    for module in ("moto", "flask", "obstore"):
        pytest.importorskip(module)
    made = ObjectStore(tmp_path_factory.mktemp("object-store"))
    yield made
    made.stop()


@pytest.fixture
def object_store(object_server):
    """The server, empty and as it was when it was started."""
    object_server.empty()
    return object_server
