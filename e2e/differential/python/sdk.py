"""The driver of the official Python SDK."""

import io
import logging
from datetime import timedelta

from driver import (
    DEFAULT_ENTRYPOINT,
    Failed,
    Labels,
    content,
    downloaded,
    drive,
    ending,
    followed,
    metadata,
    until_finished,
)
from opensandbox.config.connection_sync import ConnectionConfigSync
from opensandbox.exceptions import (
    InvalidArgumentException,
    SandboxApiException,
    SandboxConnectionException,
    SandboxError,
    SandboxException,
    SandboxTimeoutException,
)
from opensandbox.models.execd import RunCommandOpts
from opensandbox.models.execd_sync import ExecutionHandlersSync
from opensandbox.models.filesystem import (
    ContentReplaceEntry,
    DirectoryListEntry,
    MoveEntry,
    SearchEntry,
    WriteEntry,
)
from opensandbox.models.sandboxes import NetworkPolicy, NetworkRule, SandboxFilter
from opensandbox.sync.manager import SandboxManagerSync
from opensandbox.sync.sandbox import SandboxSync
from pydantic import ValidationError

logging.disable(logging.CRITICAL)


def reported(call):
    """Turns the SDK's exceptions into the shared words."""

    def wrapped(self, operation):
        try:
            return call(self, operation)
        except (InvalidArgumentException, ValidationError, ValueError) as error:
            raise Failed("refused") from error
        except SandboxApiException as error:
            code = error.error.code
            is_own = code in (SandboxError.UNEXPECTED_RESPONSE, SandboxError.RATE_LIMIT)
            raise Failed("answered", error.status_code, None if is_own else code) from error
        except SandboxTimeoutException as error:
            raise Failed("deadline_exceeded") from error
        except SandboxConnectionException as error:
            raise Failed("unreachable") from error
        except SandboxException as error:
            raise Failed(error.error.code.lower()) from error

    return wrapped


class Sdk:
    def __init__(self, plan):
        self.plan = plan
        self.labels = Labels()
        self.handles = {}
        self.configs = {proxied: self._config(proxied) for proxied in (False, True)}
        self.managers = {proxied: SandboxManagerSync.create(config) for proxied, config in self.configs.items()}

    def _config(self, is_proxied):
        protocol, domain = self.plan["url"].split("://")
        return ConnectionConfigSync(
            domain=domain,
            api_key=self.plan["api_key"],
            protocol=protocol,
            use_server_proxy=is_proxied,
            disable_metrics=True,
            request_timeout=timedelta(seconds=60),
        )

    def _manager(self, operation):
        return self.managers[operation.is_proxied]

    def _sandbox(self, operation):
        key = (self.labels.sandbox(operation), operation.is_proxied)
        if key not in self.handles:
            config = self.configs[operation.is_proxied]
            self.handles[key] = SandboxSync.connect(key[0], connection_config=config, skip_health_check=True)
        return self.handles[key]

    def close(self):
        for sandbox_id in self.labels.sandboxes.values():
            try:
                self.managers[False].kill_sandbox(sandbox_id)
            except SandboxException:
                pass

    @reported
    def create(self, operation):
        timeout = operation.get("timeout_s")
        policy = operation.get("network_policy")
        sandbox = SandboxSync.create(
            operation.get("image", self.plan["image"]),
            timeout=None if timeout is None else timedelta(seconds=timeout),
            env=operation.get("env"),
            metadata=metadata(self.plan, operation),
            resource=operation.get("resource"),
            network_policy=policy and NetworkPolicy(**policy),
            entrypoint=DEFAULT_ENTRYPOINT,
            connection_config=self.configs[operation.is_proxied],
        )
        self.labels.sandboxes[operation["as"]] = sandbox.id
        self.handles[(sandbox.id, operation.is_proxied)] = sandbox
        return {"id": sandbox.id}

    @reported
    def get(self, operation):
        return self._describe(self._manager(operation).get_sandbox_info(self.labels.sandbox(operation)))

    @reported
    def list(self, operation):
        wanted = SandboxFilter(
            states=operation.get("states"),
            metadata={**operation.get("metadata", {}), "differential.client": self.plan["client"]},
            page=operation.get("page"),
            page_size=operation.get("page_size"),
        )
        page = self._manager(operation).list_sandbox_infos(wanted)
        items = [self._describe(info) for info in page.sandbox_infos]
        return {"items": items, "has_next_page": page.pagination.has_next_page}

    @reported
    def kill(self, operation):
        self._manager(operation).kill_sandbox(self.labels.sandbox(operation))
        return {}

    @reported
    def renew(self, operation):
        in_s = timedelta(seconds=operation["in_s"])
        renewed = self._manager(operation).renew_sandbox(self.labels.sandbox(operation), in_s)
        return {"expires_at": renewed.expires_at.isoformat()}

    @reported
    def pause(self, operation):
        self._manager(operation).pause_sandbox(self.labels.sandbox(operation))
        return {}

    @reported
    def resume(self, operation):
        sandbox_id = self.labels.sandbox(operation)
        config = self.configs[operation.is_proxied]
        sandbox = SandboxSync.resume(sandbox_id, connection_config=config)
        self.handles[(sandbox_id, operation.is_proxied)] = sandbox
        return {}

    @reported
    def endpoint(self, operation):
        endpoint = self._sandbox(operation).get_endpoint(operation["port"])
        return {"endpoint": endpoint.endpoint, "headers": ", ".join(sorted(endpoint.headers)).lower()}

    @reported
    def metrics(self, operation):
        found = self._sandbox(operation).get_metrics()
        return {
            "cpu_count": found.cpu_count,
            "cpu_used_percent": found.cpu_used_percentage,
            "mem_total_mib": found.memory_total_in_mib,
            "mem_used_mib": found.memory_used_in_mib,
            "measured_at_ms": found.timestamp,
        }

    @reported
    def get_policy(self, operation):
        policy = self._sandbox(operation).get_egress_policy()
        rules = [{"action": rule.action, "target": rule.target} for rule in policy.egress or []]
        return {"default_action": policy.default_action, "egress": rules}

    @reported
    def patch_policy(self, operation):
        rules = [NetworkRule(**rule) for rule in operation["rules"]]
        self._sandbox(operation).patch_egress_rules(rules)
        return {}

    @reported
    def delete_rules(self, operation):
        self._sandbox(operation).delete_egress_rules(operation["targets"])
        return self.get_policy(operation)

    def _command(self, operation, handlers=None, background=False):
        timeout = operation.get("timeout_ms")
        opts = RunCommandOpts(
            background=background,
            working_directory=operation.get("cwd"),
            timeout=None if timeout is None else timedelta(milliseconds=timeout),
            envs=operation.get("env"),
        )
        command = operation.get("argv") or operation["text"]
        return self._sandbox(operation).commands.run(command, opts=opts, handlers=handlers)

    @reported
    def run(self, operation):
        ids, stdout = [], []

        def on_stdout(message):
            stdout.append(message.text)
            mark = operation.get("interrupt_on")
            if mark and mark in "".join(stdout):
                self._sandbox(operation).commands.interrupt(ids[0])

        handlers = ExecutionHandlersSync(on_init=lambda init: ids.append(init.id), on_stdout=on_stdout)
        execution = self._command(operation, handlers)
        self.labels.keep_command(operation, execution.id)
        return {
            "end": ending(execution.exit_code, execution.error is not None, execution.complete is not None),
            "exit_code": execution.exit_code,
            "stdout": "".join(message.text for message in execution.logs.stdout),
            "stderr": "".join(message.text for message in execution.logs.stderr),
        }

    @reported
    def start(self, operation):
        execution = self._command(operation, background=True)
        self.labels.keep_command(operation, execution.id)
        if execution.error is not None:
            raise Failed("start_failed")
        return {"id": execution.id}

    @reported
    def status(self, operation):
        command_id = self.labels.command(operation)

        def ask():
            found = self._sandbox(operation).commands.get_command_status(command_id)
            return {
                "is_running": found.running,
                "exit_code": found.exit_code,
                "error": found.error,
                "started_at": found.started_at and found.started_at.isoformat(),
                "finished_at": found.finished_at and found.finished_at.isoformat(),
            }

        return until_finished(operation, ask)

    @reported
    def logs(self, operation):
        command_id = self.labels.command(operation)
        found = self._sandbox(operation).commands.get_background_command_logs(command_id, operation.get("cursor"))
        return {"text": found.content, "cursor": found.cursor}

    def follow(self, operation):
        return followed(self, operation)

    @reported
    def interrupt(self, operation):
        self._sandbox(operation).commands.interrupt(self.labels.command(operation))
        return {}

    @reported
    def upload(self, operation):
        data = io.BytesIO(content(operation))
        mode = {"mode": operation["mode"]} if "mode" in operation else {}
        self._sandbox(operation).files.write_files([WriteEntry(path=operation["path"], data=data, **mode)])
        return {}

    @reported
    def download(self, operation):
        header = None
        if "start" in operation:
            last = operation["start"] + operation["length"] - 1 if "length" in operation else ""
            header = f"bytes={operation['start']}-{last}"
        return downloaded(self._sandbox(operation).files.read_bytes_stream(operation["path"], range_header=header))

    @reported
    def info(self, operation):
        found = self._sandbox(operation).files.get_file_info(operation["paths"])
        return {"entries": {path: self._entry(entry) for path, entry in found.items()}}

    @reported
    def list_directory(self, operation):
        wanted = DirectoryListEntry(path=operation["path"], depth=operation.get("depth", 1))
        found = self._sandbox(operation).files.list_directory(wanted)
        return {"entries": [self._entry(entry) for entry in found]}

    @reported
    def search(self, operation):
        wanted = SearchEntry(path=operation["path"], pattern=operation["pattern"])
        found = self._sandbox(operation).files.search(wanted)
        return {"entries": [self._entry(entry) for entry in sorted(found, key=lambda entry: entry.path)]}

    @reported
    def make_directory(self, operation):
        entry = WriteEntry(path=operation["path"], mode=operation["mode"])
        self._sandbox(operation).files.create_directories([entry])
        return {}

    @reported
    def delete_files(self, operation):
        self._sandbox(operation).files.delete_files(operation["paths"])
        return {}

    @reported
    def delete_directory(self, operation):
        self._sandbox(operation).files.delete_directories([operation["path"]])
        return {}

    @reported
    def move(self, operation):
        entry = MoveEntry(source=operation["from"], destination=operation["to"])
        self._sandbox(operation).files.move_files([entry])
        return {}

    @reported
    def replace(self, operation):
        entry = ContentReplaceEntry(
            path=operation["path"], old_content=operation["old"], new_content=operation["new"]
        )
        found = self._sandbox(operation).files.replace_contents_detailed([entry])
        return {"count": sum(one.replaced_count for one in found)}

    @staticmethod
    def _describe(info):
        return {
            "id": info.id,
            "state": info.status.state,
            "reason": info.status.reason,
            "expires_at": info.expires_at and info.expires_at.isoformat(),
            "created_at": info.created_at.isoformat(),
            "metadata": info.metadata,
            "extensions": info.extensions,
            "image": info.image and info.image.image,
            "entrypoint": info.entrypoint,
        }

    @staticmethod
    def _entry(entry):
        return {
            "path": entry.path,
            "type": entry.entry_type,
            "size": entry.size,
            "mode": str(entry.mode),
            "owner": entry.owner,
            "group": entry.group,
            "modified_at": entry.modified_at.isoformat(),
            "created_at": entry.created_at.isoformat(),
        }


if __name__ == "__main__":
    drive(Sdk)
