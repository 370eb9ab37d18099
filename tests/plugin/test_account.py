"""Whose limit is spent, told by an id that tells nothing else."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from paceline import account, paths

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-made-up-key"


@pytest.fixture
def who(tmp_path: Path) -> Any:
    """Return a function from variables to the account's id, on one machine with an empty home."""

    def who(**env: str) -> str:
        home = dict.fromkeys(("HOME", "USERPROFILE"), str(tmp_path / "home"))
        return account.account_id({**home, **env}, str(tmp_path / "state"))

    return who


def login(folder: Path, **fields: object) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"projects": {}, "oauthAccount": fields})
    (folder / ".claude.json").write_text(text, encoding="utf-8")


def test_the_same_credential_has_the_same_id_and_another_one_another(who: Any) -> None:
    assert who(ANTHROPIC_API_KEY=KEY) == who(ANTHROPIC_API_KEY=KEY + "\n")
    assert who(ANTHROPIC_API_KEY=KEY) != who(ANTHROPIC_API_KEY=KEY + "2")
    assert who(ANTHROPIC_API_KEY=KEY) != who(ANTHROPIC_AUTH_TOKEN=KEY)


def test_an_id_may_stand_in_a_path_and_holds_no_credential(who: Any) -> None:
    found = who(ANTHROPIC_API_KEY=KEY)
    assert paths.is_id(found)
    assert len(found) == 16
    assert KEY not in found


def test_another_machine_gives_the_same_credential_another_id(tmp_path: Path) -> None:
    env = {"ANTHROPIC_API_KEY": KEY}
    assert account.account_id(env, str(tmp_path / "a")) != account.account_id(
        env, str(tmp_path / "b")
    )


def test_credentials_are_taken_in_the_clients_order(who: Any, tmp_path: Path) -> None:
    login(tmp_path / "home", accountUuid="u1", organizationUuid="o1")
    every = {
        "CLAUDE_CODE_USE_BEDROCK": "1",
        "ANTHROPIC_API_KEY": KEY,
        "ANTHROPIC_AUTH_TOKEN": "token",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }
    found = []
    for name in list(every):
        found.append(who(**every))
        del every[name]
    assert len(set(found)) == 4
    assert found[-1] == who(), "behind a login the base URL changes nothing"


def test_a_login_tells_account_and_organisation(who: Any, tmp_path: Path) -> None:
    login(tmp_path / "home", accountUuid="u1", organizationUuid="o1")
    first = who()
    login(tmp_path / "home", accountUuid="u1", organizationUuid="o2")
    assert first != who()
    login(tmp_path / "elsewhere", accountUuid="u1", organizationUuid="o1")
    assert who(CLAUDE_CONFIG_DIR=str(tmp_path / "elsewhere")) == first


def test_a_token_the_client_hides_from_its_hooks_is_not_looked_at(who: Any) -> None:
    """A shell sees CLAUDE_CODE_OAUTH_TOKEN, a hook does not: both must name one account."""
    url = "http://127.0.0.1:9/"
    shell = who(ANTHROPIC_BASE_URL=url, CLAUDE_CODE_OAUTH_TOKEN="sk-ant-oat01-made-up")
    assert shell == who(ANTHROPIC_BASE_URL=url)
    assert shell != who()


def test_nothing_to_tell_an_account_by_is_the_default_one(who: Any, tmp_path: Path) -> None:
    assert who() == who(ANTHROPIC_API_KEY="", ANTHROPIC_BASE_URL=" ") == "default"
    assert not (tmp_path / "state").exists(), "an id without a hash needs no salt"


def test_a_name_given_by_hand_tells_accounts_apart(who: Any) -> None:
    assert who(PACELINE_ACCOUNT="team", ANTHROPIC_API_KEY=KEY) == who(PACELINE_ACCOUNT="team")
    assert who(PACELINE_ACCOUNT="team") != who(PACELINE_ACCOUNT="mine")


def test_cloud_accounts_differ_by_region_and_project(who: Any) -> None:
    east = who(CLAUDE_CODE_USE_BEDROCK="1", AWS_REGION="us-east-1")
    assert east != who(CLAUDE_CODE_USE_BEDROCK="true", AWS_REGION="eu-west-1")
    assert who(CLAUDE_CODE_USE_BEDROCK="0") == "default"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"oauthAccount": 5}', '{"oauthAccount": {"accountUuid": 7}}', "\0\0"]
)
def test_a_damaged_login_file_is_no_login(who: Any, tmp_path: Path, text: str) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / ".claude.json").write_text(text, encoding="utf-8")
    assert who() == "default"


def test_the_salt_is_whole_for_everyone_who_reads_it(tmp_path: Path) -> None:
    """Eight at once: one salt, 32 bytes, and nothing left beside it."""
    found: list[bytes] = []
    start = threading.Barrier(8)

    def run() -> None:
        start.wait(timeout=30)
        found.append(account.salt(str(tmp_path)))

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(found) == 8
    assert len(set(found)) == 1
    assert len(found[0]) == account.SALT_BYTES
    assert [path.name for path in tmp_path.iterdir()] == ["salt"]


def test_a_file_system_without_links_still_gets_its_salt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(os, "link", refuse)
    found = account.salt(str(tmp_path))
    assert len(found) == account.SALT_BYTES
    assert found == account.salt(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["salt"]


def test_a_salt_cut_short_keeps_its_accounts(tmp_path: Path) -> None:
    (tmp_path / "salt").write_bytes(b"short")
    assert account.salt(str(tmp_path)) == b"short"


def test_where_no_salt_can_be_kept_an_id_is_still_had(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")
    env = {"ANTHROPIC_API_KEY": KEY}
    found = account.account_id(env, str(tmp_path / "state"))
    assert found == account.account_id(env, str(tmp_path / "state"))
    assert len(found) == 16


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions")
def test_the_salt_is_its_owners_alone(tmp_path: Path) -> None:
    account.salt(str(tmp_path / "state"))
    assert (tmp_path / "state" / "salt").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
