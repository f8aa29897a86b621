"""A function to run: its code, and the environment that Lambda gives its process."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

_ACCOUNT_ID = "123456789012"
_MEMORY_MB = 512
_VERSION = "$LATEST"


@dataclass(frozen=True, slots=True, kw_only=True)
class Function:
    """The code and settings of one Lambda function.

    Attributes:
        name: What `context.function_name` says.
        handler: `module.function`, as in the template.
        folder: The function's code; the working directory, as /var/task is.
        layers: Folders that stand for /opt/python: found after the function's code, before what is installed.
        environment: The function's variables and its role's credentials. Nothing else of this process's
            environment reaches the function.
        region: The AWS region.
        python: The interpreter. Its packages stand for the Lambda runtime's, so it must have `awslambdaric`.
    """

    name: str
    handler: str
    folder: Path
    layers: tuple[Path, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    region: str = "us-east-1"
    python: str = sys.executable

    def __post_init__(self) -> None:
        for folder in (self.folder, *self.layers):
            if not folder.is_dir():
                raise NotADirectoryError(f"{self.name}: there is no folder {folder}")

    @property
    def arn(self) -> str:
        """The ARN under which the function is invoked."""
        return f"arn:aws:lambda:{self.region}:{_ACCOUNT_ID}:function:{self.name}"

    def process_environment(self, runtime_api: str) -> dict[str, str]:
        """Return the whole environment of the process.

        Args:
            runtime_api: `host:port` of the Runtime API.
        """
        # A function meets neither the developer's own AWS files nor the machine's metadata service.
        defaults = {
            "PATH": os.defpath,
            "LANG": "en_US.UTF-8",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        reserved = {
            "_HANDLER": self.handler,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{sys.version_info.major}.{sys.version_info.minor}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(_MEMORY_MB),
            "AWS_LAMBDA_FUNCTION_NAME": self.name,
            "AWS_LAMBDA_FUNCTION_VERSION": _VERSION,
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{self.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": f"local/[{_VERSION}]",
            "AWS_LAMBDA_RUNTIME_API": runtime_api,
            "AWS_REGION": self.region,
            "LAMBDA_TASK_ROOT": str(self.folder.resolve()),
            "PYTHONPATH": os.pathsep.join(str(path.resolve()) for path in (self.folder, *self.layers)),
            "TZ": ":UTC",
        }
        return defaults | dict(self.environment) | reserved
