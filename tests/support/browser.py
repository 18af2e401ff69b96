"""Pages in a browser, several at once, each in a frame of its own width."""

import html
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

_WRAPPER = """<!doctype html><meta charset="utf-8"><body>{frames}<pre id="found"></pre><script>
window.onload = () => {{
  const probe = (d, w) => {{ {probe} }};
  document.getElementById("found").textContent = JSON.stringify(
    [...document.querySelectorAll("iframe")].map(f => probe(f.contentDocument, f.contentWindow)));
}};
</script></body>"""


def probed(pages, probe, folder):
    """Return what a function body in JavaScript, of a document d and its window w, finds in pages: (HTML, width)."""
    frames = "".join(
        f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(page)}"></iframe>'
        for page, width in pages
    )
    path = folder / "probed.html"
    path.write_text(_WRAPPER.format(frames=frames, probe=probe), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--window-size=1600,1000", "--dump-dom"]
    result = subprocess.run([*command, path.as_uri()], capture_output=True, text=True, timeout=300, check=False)
    if result.returncode:
        pytest.skip(f"Chromium does not run here: {result.stderr[-200:]}")
    found = re.search(r'<pre id="found">(.*?)</pre>', result.stdout, re.DOTALL).group(1)
    return json.loads(html.unescape(found))
