r"""Make ``.venv`` with everything the project needs, from nothing but a Python with pip.

    python3 .ci/setup.py        (py .ci\setup.py on Windows)

Works again only when uv.lock, pyproject.toml, the interpreter or the place of the checkout changed.
Kept to syntax that old interpreters parse, so that one too old can say so.
"""

import hashlib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def say(text):
    sys.stderr.write("setup: " + text + "\n")
    sys.stderr.flush()


def main():
    if sys.version_info < (3, 11):
        say("Paceline needs Python 3.11 or later; this is %d.%d" % sys.version_info[:2])
        say("next: make setup PYTHON=python3.12  (or the path of another Python)")
        return 1
    sys.path[:0] = [os.path.join(ROOT, "mcp_server")]
    from pathlib import Path

    from paceline_mcp.launcher import install, places

    root = Path(ROOT)
    wanted = stamped(root)
    stamp = root / ".venv" / places.CHECKOUT_READY
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return 0
    try:
        fill(root / ".venv", root)
    except subprocess.CalledProcessError as err:
        say("failed: " + install.reason(err))
        say(
            "next: see the lines above. A Python without pip needs one first (Debian, Ubuntu: "
            "apt install python3-pip python3-venv); a broken line just another try"
        )
        return 1
    stamp.write_text(wanted, encoding="utf-8")
    say("done")
    return 0


def stamped(root):
    """Return what the finished environment is stamped with: what it was made of, and where."""
    from paceline_mcp.launcher import places

    locked = (root / "uv.lock").read_bytes() + (root / "pyproject.toml").read_bytes()
    python = sys.version.replace("\n", " ")
    return "\n".join((places.checkout_key(root), hashlib.sha256(locked).hexdigest(), python, ""))


def fill(venv, root):
    """Make the environment unless it fits this interpreter, then let uv install what is locked."""
    from paceline_mcp.launcher import install, places

    env = install.clean_env(os.environ)
    env.update(UV_PROJECT_ENVIRONMENT=str(venv), UV_PYTHON=str(places.python_of(venv)))
    if not os.access(os.path.expanduser("~"), os.W_OK):
        env.setdefault("UV_NO_CACHE", "1")
    uv = places.python_of(venv).with_name("uv.exe" if os.name == "nt" else "uv")
    pinned = re.search(r'name = "uv"\nversion = "([^"]+)"', (root / "uv.lock").read_text("utf-8"))
    # An older uv would have to replace itself, which Windows does not let a running program do.
    if not (fits(places.python_of(venv)) and tells(uv, pinned.group(1))):
        say("making .venv with Python %d.%d.%d" % sys.version_info[:3])
        pip = install.make_venv(venv, env, clear=True)
        say("installing uv " + pinned.group(1))
        run(
            pip + ["install", "--quiet", "--disable-pip-version-check", "uv==" + pinned.group(1)],
            env,
        )
    say("installing what uv.lock names (once; a minute or so on a slow line)")
    run([str(uv), "sync", "--frozen", "--all-groups", "--project", str(root)], env)
    for pth in venv.rglob("*.pth"):
        text = pth.read_text(encoding="utf-8")
        if not text.isascii():
            pth.write_text(spelled(text), encoding="ascii", newline="\n")


def spelled(text):
    """Return the lines of a .pth file in ASCII alone.

    Python before 3.13 reads them as the console's code page, not as the UTF-8 they are written in:
    on Windows, or with LC_ALL=C, nothing would be found below a folder with an accent.
    """
    return "".join(
        (line if line.isascii() else "import sys; sys.path.append(%s)" % ascii(line)) + "\n"
        for line in text.splitlines()
    )


def fits(python):
    """Whether the environment's interpreter runs and is the one that runs this script."""
    same = "import sys; sys.exit(sys.argv[1] != sys.version)"
    try:
        return subprocess.call([str(python), "-I", "-c", same, sys.version]) == 0
    except OSError:
        return False


def tells(program, version):
    """Whether a program runs and is of this version."""
    try:
        told = subprocess.run([str(program), "--version"], stdout=subprocess.PIPE, check=False)
    except OSError:
        return False
    return version.encode() in told.stdout.split()


def run(args, env):
    subprocess.run(args, check=True, env=env, stdout=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
