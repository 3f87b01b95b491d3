"""The registry: right files are used, wrong ones refused, nothing is left behind."""

from __future__ import annotations

import errno
import hashlib
import io
import os
import signal
import socket
import subprocess
import sys
import tempfile
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from read_only import read_only
from serving import Server, serving

from siscm.data import registry
from siscm.data.sources import COUNTS, IMAGES, JPEG_IMAGES, RAW, WEIGHTS

CONTENT = b"[1, 2, 3]\n" * 20_000
PATH = "some/where/good.json"


@pytest.fixture(scope="module")
def serving_content() -> Iterator[Server]:
    with serving(CONTENT) as server:
        yield server


@pytest.fixture
def server(serving_content: Server) -> str:
    return serving_content.url


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder that does not exist yet, two levels below one that does."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    place = tmp_path / "new" / "data"
    monkeypatch.setenv("SISCM_DATA_DIR", str(place))
    return place


def serve(monkeypatch: pytest.MonkeyPatch, url: str) -> registry.Entry:
    entry = registry.Entry(PATH, hashlib.sha256(CONTENT).hexdigest(), url, "none", "none")
    monkeypatch.setattr(registry, "ENTRIES", {PATH: entry})
    return entry


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def put(folder: Path, content: bytes) -> Path:
    file = folder / PATH
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    os.utime(file, (1, 1))
    return file


def test_entries_are_well_formed() -> None:
    assert len(registry.ENTRIES) == 10, "a file more or less: count it here, and its hash below"
    for path, entry in registry.ENTRIES.items():
        assert entry.path == path
        assert len(bytes.fromhex(entry.sha256)) == 32
        assert entry.url.startswith("https://")
        assert entry.url.endswith(Path(path).name)
        assert entry.licence
        assert entry.source
        if path in registry.PANELS:
            assert entry.hash_from == "computed from the file"
        else:
            assert "no copy was at hand" in entry.hash_from
    hashes = {entry.sha256 for entry in registry.ENTRIES.values()}
    assert len(hashes | set(registry.PLACED_BY_HAND.values())) == 11


@pytest.mark.parametrize("path", [*registry.PANELS, RAW])
def test_addresses_on_github_are_pinned_to_a_commit(path: str) -> None:
    parts = registry.ENTRIES[path].url.split("/")
    commits = [part for part in parts if len(part) == 40]
    assert len(commits) == 1
    assert bytes.fromhex(commits[0])
    known = ("le-wi-di.github.io", "cifar-10h")
    assert parts[4] in known, "if it is the right repository, name it here"


def test_the_weights_address_begins_with_the_hash() -> None:
    entry = registry.ENTRIES[WEIGHTS]
    assert entry.url.endswith(f"-{entry.sha256[:8]}.pth")


def test_setting_defaults_to_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SISCM_DATA", raising=False)
    assert registry.setting() == "simulated"
    monkeypatch.setenv("SISCM_DATA", "")
    assert registry.setting() == "simulated"
    monkeypatch.setenv("SISCM_DATA", "real")
    assert registry.setting() == "real"


@pytest.mark.parametrize("value", ["Real", "true", "1", "simulated "])
def test_setting_refuses_anything_else(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("SISCM_DATA", value)
    with pytest.raises(ValueError, match=rf"SISCM_DATA is '{value}'.*'simulated' or 'real'"):
        registry.setting()


def test_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SISCM_DATA_DIR", "relative")
    monkeypatch.chdir(tmp_path)
    assert registry.data_folder() == tmp_path / "relative"
    monkeypatch.delenv("SISCM_DATA_DIR")
    assert registry.data_folder().is_absolute()
    assert "siscm" in registry.data_folder().parts


def test_locate_says_how_to_get_a_missing_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = serve(monkeypatch, "http://127.0.0.1:9/nobody")
    with pytest.raises(FileNotFoundError) as caught:
        registry.locate(PATH)
    for part in (PATH, str(folder), "make data", "by hand", entry.url):
        assert part in str(caught.value)
    assert not folder.exists()


def test_locate_refuses_an_unknown_path() -> None:
    with pytest.raises(ValueError, match=r"no file 'lewidi/other.json'.*HS-Brexit_train.json"):
        registry.locate("lewidi/other.json")


def test_a_file_with_the_right_hash_is_used_untouched(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "http://127.0.0.1:9/nobody")  # offline
    file = put(folder, CONTENT)
    file.chmod(0o444)
    before = everything_below(folder)
    times = {path: path.stat().st_mtime_ns for path in (file, *file.parents)}
    assert registry.locate(PATH) == file
    assert registry.download() == [file]
    assert everything_below(folder) == before
    assert {path: path.stat().st_mtime_ns for path in times} == times


@pytest.mark.parametrize("content", [b"", CONTENT[:-1], b"x" + CONTENT[1:]])
def test_a_file_with_a_wrong_hash_is_refused_and_kept(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    entry = serve(monkeypatch, f"{server}/good")
    file = put(folder, content)
    for call in (registry.locate, registry.download):
        with pytest.raises(ValueError, match="not the file expected") as caught:
            call(PATH)
        for part in (str(file), entry.sha256, hashlib.sha256(content).hexdigest(), "make data"):
            assert part in str(caught.value)
    assert file.read_bytes() == content
    assert file.stat().st_mtime == 1


def test_download_puts_the_file_in_its_place(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    serve(monkeypatch, f"{server}/good")
    assert registry.download(PATH) == [folder / PATH]
    assert (folder / PATH).read_bytes() == CONTENT
    assert everything_below(folder) == ["some", "some/where", PATH]
    assert registry.locate(PATH) == folder / PATH
    umask = os.umask(0)
    os.umask(umask)
    assert (folder / PATH).stat().st_mode & 0o777 == 0o666 & ~umask
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("kind", "error", "words"),
    [
        ("altered", ValueError, "is not some/where/good.json: its SHA-256 should be"),
        ("short", ValueError, "is not some/where/good.json: its SHA-256 should be"),
        ("truncated", ConnectionError, "it broke off"),
        ("missing", ConnectionError, "the server answered 404"),
    ],
)
def test_a_bad_download_is_refused_and_leaves_nothing(
    folder: Path,
    server: str,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    error: type[Exception],
    words: str,
) -> None:
    serve(monkeypatch, f"{server}/{kind}")
    with pytest.raises(error, match=words) as caught:
        registry.download()
    assert "Nothing was kept" in str(caught.value)
    assert not folder.parent.exists()


def test_a_failed_download_keeps_what_was_there(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, f"{server}/altered")
    (folder / "some").mkdir(parents=True)
    with pytest.raises(ValueError, match="SHA-256"):
        registry.download()
    assert everything_below(folder) == ["some"]


def test_an_interrupted_download_leaves_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, "http://127.0.0.1:9/nobody")

    def interrupted(entry: registry.Entry, file: Path) -> None:
        file.write_bytes(CONTENT[:100])
        raise KeyboardInterrupt

    monkeypatch.setattr(registry, "_stream", interrupted)
    with pytest.raises(KeyboardInterrupt):
        registry.download()
    assert not folder.parent.exists()


def test_offline_gives_one_clear_sentence(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = serve(monkeypatch, "http://127.0.0.1:9/nobody")  # the discard port: nobody listens
    assert registry.main() == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"could not download {PATH} from {entry.url}: there is no conn")
    assert printed.err.count("\n") == 1
    assert not folder.parent.exists()


def test_a_folder_that_cannot_be_made_is_named(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(monkeypatch, f"{server}/good")

    def refused(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "mkdir", refused)
    with pytest.raises(PermissionError, match=rf"{folder}.*SISCM_DATA_DIR"):
        registry.download()


def test_the_command_says_where_each_file_is(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = serve(monkeypatch, f"{server}/good")
    second = replace(first, path="other.json")
    monkeypatch.setattr(registry, "ENTRIES", {PATH: first, "other.json": second})
    assert registry.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        f"ready: {folder / PATH}",
        f"ready: {folder / 'other.json'}",
    ]


def test_with_a_wrong_file_nothing_is_downloaded(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also not what comes before it in the registry."""
    wrong = serve(monkeypatch, f"{server}/good")
    missing = replace(wrong, path="earlier.json")
    monkeypatch.setattr(registry, "ENTRIES", {"earlier.json": missing, PATH: wrong})
    put(folder, b"other")
    before = everything_below(folder)
    with pytest.raises(ValueError, match="not the file expected"):
        registry.download()
    assert registry.main() == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.count("\n") == 1
    assert everything_below(folder) == before


def test_a_second_try_goes_on_where_the_first_stopped(
    folder: Path, server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    first = serve(monkeypatch, f"{server}/good")
    for kind, code in (("truncated", 1), ("good", 0)):
        second = replace(first, path="other.json", url=f"{server}/{kind}")
        monkeypatch.setattr(registry, "ENTRIES", {PATH: first, "other.json": second})
        assert registry.main() == code
        assert (folder / "other.json").exists() == (code == 0)
        if code:
            os.utime(folder / PATH, (1, 1))
    assert (folder / PATH).stat().st_mtime == 1, "it was not downloaded again"
    assert "could not download other.json" in capsys.readouterr().err


def test_a_bar_shows_how_far_a_large_download_has_come(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    content = bytes(3_500_000)
    with serving(content) as server:
        sha256 = hashlib.sha256(content).hexdigest()
        for kind, last in (("good", "3 of 3 MB"), ("truncated", "3 of 3 MB")):
            entry = registry.Entry(kind, sha256, f"{server.url}/{kind}", "", "")
            monkeypatch.setattr(registry, "ENTRIES", {kind: entry})
            terminal = Terminal()
            monkeypatch.setattr(sys, "stderr", terminal)
            with suppress(ConnectionError):
                registry.download()
            shown = terminal.getvalue()
            assert shown.startswith(f"\r{kind}: 1 of 3 MB\r{kind}: 2 of 3 MB"), "once a megabyte"
            assert shown.endswith(f"{last}\n"), "what follows begins on a line of its own"


def script(url: str, then: str) -> list[str]:
    """A fresh process that knows one file at ``url``, and heeds signals that the caller ignores."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    return [
        sys.executable,
        "-c",
        "import signal, sys\nfrom siscm.data import registry\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"entry = registry.Entry({PATH!r}, {digest!r}, {url!r}, '', '')\n"
        f"registry.ENTRIES = {{entry.path: entry}}\n{then}\n",
    ]


def test_two_processes_at_once(folder: Path, server: str) -> None:
    command = script(f"{server}/good", "print(registry.download()[0].stat().st_size)")
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    for process in processes:
        assert process.communicate(timeout=60)[0] == f"{len(CONTENT)}\n"
        assert process.returncode == 0
    assert everything_below(folder) == ["some", "some/where", PATH]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_download_stopped_halfway_leaves_nothing(
    folder: Path, serving_content: Server, number: signal.Signals
) -> None:
    serving_content.halfway.clear()
    serving_content.go_on.clear()
    command = script(f"{serving_content.url}/stalling", "sys.exit(registry.main())")
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert serving_content.halfway.wait(timeout=60)
        assert any(folder.rglob(".siscm-*")), "the test has to stop it while it writes"
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 128 + number
    serving_content.go_on.set()
    assert "Traceback" not in said
    assert not folder.parent.exists()


def test_who_asked_to_outlive_the_terminal_does() -> None:
    """As under nohup, which lets a process ignore the signal."""
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN); "
        "from siscm.data.registry import unwind_when_ended; unwind_when_ended(); "
        "signal.raise_signal(signal.SIGHUP); print('alive'); signal.raise_signal(signal.SIGTERM)"
    )
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert (done.stdout, done.returncode) == ("alive\n", 128 + signal.SIGTERM)


@pytest.mark.real_data
@pytest.mark.parametrize("path", registry.PANELS)
def test_the_real_file_is_there_and_right(path: str) -> None:
    assert registry.locate(path).stat().st_size > 0


def test_check_downloads_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(path: str | None = None) -> list[Path]:
        raise AssertionError("a check must not download")

    monkeypatch.setattr(registry, "download", refuse)
    assert registry.main(["check"]) == 1
    said = capsys.readouterr().err
    assert next(iter(registry.ENTRIES)) in said
    assert "make data" in said


def test_check_asks_only_for_what_the_panels_need(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(registry, "locate", asked.append)
    assert registry.main(["check"]) == 0
    assert len(asked) == 7
    assert asked[-1] == COUNTS
    assert all(path.startswith("lewidi/") for path in asked[:-1])


def test_the_command_downloads_everything(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(registry, "download", lambda path: [asked.append(path)])
    assert registry.main() == 0
    assert asked == list(registry.ENTRIES)
    assert {RAW, IMAGES, WEIGHTS} < set(asked)


def test_a_file_placed_by_hand_has_no_address(folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Put it there by hand, or let SISCM") as caught:
        registry.locate(JPEG_IMAGES)
    assert "make data" not in str(caught.value)
    with pytest.raises(ValueError, match=r"no file 'cifar10/cifar10_test_jpeg\.npz'"):
        registry.download(JPEG_IMAGES)
    (folder / JPEG_IMAGES).parent.mkdir(parents=True)
    (folder / JPEG_IMAGES).write_bytes(CONTENT)
    with pytest.raises(ValueError, match=r"not the file expected.*Move it away, or let SISCM"):
        registry.locate(JPEG_IMAGES)


def test_a_read_only_folder_is_used_but_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = serve(monkeypatch, "http://127.0.0.1:9/nobody")
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        monkeypatch.setenv("SISCM_DATA_DIR", name)
        put(place, CONTENT)
        before = everything_below(place)
        with read_only(place):
            assert registry.download() == [place / PATH]
            for path in ("some/where/other.json", "new/other.json"):
                monkeypatch.setattr(registry, "ENTRIES", {path: replace(entry, path=path)})
                with pytest.raises(
                    PermissionError, match=rf"cannot write {path} into .*SISCM_DATA_DIR"
                ):
                    registry.download()
        assert everything_below(place) == before


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_not_taken_for_a_broken_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    serve(monkeypatch, "http://127.0.0.1:9/nobody")

    def full(*args: object) -> None:
        raise OSError(number, "full")

    monkeypatch.setattr("pooch.HTTPDownloader.__call__", full)
    with pytest.raises(OSError, match=r"does not fit on the disk.*full") as caught:
        registry.download()
    assert not isinstance(caught.value, ConnectionError)
    assert not folder.parent.exists()


def test_a_large_file_is_streamed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Downloading and verifying take far less memory than the file is large."""
    content = bytes(60_000_000)
    with serving(content) as large:
        entry = registry.Entry(
            PATH, hashlib.sha256(content).hexdigest(), f"{large.url}/good", "", ""
        )
        monkeypatch.setattr(registry, "ENTRIES", {PATH: entry})
        tracemalloc.start()
        try:
            registry.download()
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert (folder / PATH).stat().st_size == len(content)
    assert peak < 20_000_000


@pytest.mark.parametrize(("argument", "code"), [("--help", 0), ("chekc", 2)])
def test_help_and_what_is_unknown_download_nothing(
    argument: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = []
    monkeypatch.setattr(registry, "download", asked.append)
    with pytest.raises(SystemExit) as caught:
        registry.main([argument])
    assert caught.value.code == code
    assert "usage: python -m siscm.data.registry" in "".join(capsys.readouterr())
    assert asked == []


def test_a_tilde_is_the_users_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SISCM_DATA_DIR", "~/data")
    assert registry.data_folder() == tmp_path / "data"


def test_a_hash_is_compared_to_its_last_digit(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = serve(monkeypatch, "http://127.0.0.1:9/nobody")
    last = "0" if entry.sha256[-1] != "0" else "1"
    other = replace(entry, sha256=entry.sha256[:-1] + last)
    monkeypatch.setattr(registry, "ENTRIES", {PATH: other})
    put(folder, CONTENT)
    with pytest.raises(ValueError, match="not the file expected"):
        registry.locate(PATH)


@pytest.mark.parametrize("error", [OSError, ValueError, ImportError])
def test_errors_of_a_command_are_one_line(
    error: type[Exception], capsys: pytest.CaptureFixture[str]
) -> None:
    def work() -> None:
        raise error("install it")

    assert registry.exit_code(work, "") == 1
    assert capsys.readouterr() == ("", "install it\n")


def test_a_server_that_never_answers_is_given_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        serve(monkeypatch, f"http://127.0.0.1:{silent.getsockname()[1]}/good")
        with pytest.raises(ConnectionError, match="no connection, or it broke off"):
            registry.download()


def test_addresses_of_panels_end_as_their_paths_do() -> None:
    for path, entry in registry.ENTRIES.items():
        if path.startswith("lewidi/"):
            assert entry.url.endswith(path.removeprefix("lewidi/"))
