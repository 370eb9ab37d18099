"""Kinds of files by their name. On a hook's fast path.

Estimates are corrected by kind (``learn``), so a kind holds files whose texts cost alike.
"""

from __future__ import annotations

import os

_ENDINGS = {
    "code": """
        py pyi pyx js jsx mjs cjs ts tsx mts cts go rs c h cc cpp cxx hpp hh m mm java kt kts scala
        swift rb php pl pm lua r jl cs fs vb dart ex exs erl hrl hs ml mli clj cljs lisp sql zig nim
        v sh bash zsh fish ps1 bat cmd awk gradle groovy cmake make mk tf hcl proto thrift graphql
        gql vue svelte asm s""",
    "minified": "min.js min.css map",
    "json": "json jsonl jsonc ndjson geojson webmanifest",
    "data": "yaml yml toml ini cfg conf properties env xml xsd xsl plist lock po pot",
    "table": "csv tsv",
    "web": "html htm css scss less sass svg xhtml",
    "prose": "md markdown mdx rst txt adoc tex org",
    "log": "log out err",
    "diff": "diff patch",
    "notebook": "ipynb",
    "image": "png jpg jpeg gif webp",
    "pdf": "pdf",
    # Tried one by one: the client (2.1.332) refuses these by name and reads any other ending.
    "binary": """
        zip gz tgz bz2 xz zst 7z rar tar jar war class pyc pyo so dylib dll exe o a lib bin dat wasm
        woff woff2 ttf otf eot ico bmp tif tiff psd mp3 mp4 m4a wav ogg flac avi mov mkv webm sqlite
        sqlite3 db iso dmg deb rpm whl parquet npy npz doc docx xls xlsx ppt pptx heic avif odt ods
        epub mdb swf lz4 msi apk obj node idx aac wma wmv flv mpg mpeg m4v opus aiff ai eps sketch
        fig blend feather rlib""",
}
_KIND = {ending: kind for kind, endings in _ENDINGS.items() for ending in endings.split()}


def kind_of(path: str) -> str:
    """Return a file's kind by its name; ``text`` where the name says nothing."""
    parts = os.path.basename(path).lower().split(".")
    if len(parts) < 2:  # noqa: PLR2004  a name and an ending
        return "text"
    return _KIND.get(".".join(parts[-2:])) or _KIND.get(parts[-1], "text")
