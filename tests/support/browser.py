"""Pages in a headless Chromium: each in a frame of its own, driven by a script of the test, which one start serves."""

import html
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = next((path for path in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if path), None)
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")

# Frames of a srcdoc are of the same origin as their parent, so that it can reach into them, whatever they forbid.
OUTER = """<!doctype html><meta charset="utf-8"><body>{frames}
<script>
const drive = (window, document, given) => {{ {script} }};
const given = {given};
window.onload = () => {{
  const found = Array.from(window.frames, (frame, i) => {{
    try {{ return {{ value: drive(frame, frame.document, given[i]) }}; }}
    catch (error) {{ return {{ error: `${{error}} ${{error.stack}}` }}; }}
  }});
  document.body.replaceChildren(Object.assign(document.createElement("pre"), {{ textContent: JSON.stringify(found) }}));
}};
</script>"""


def browse(folder, pages, script, given=None, widths=None):
    """Return the result of a script, the body of a function of window, document and given, for each of the pages."""
    given = [None] * len(pages) if given is None else given
    frames = "".join(
        f'<iframe style="border: 0; width: {width}px; height: 900px" srcdoc="{html.escape(page)}"></iframe>'
        for page, width in zip(pages, widths or [1200] * len(pages), strict=True)
    )
    outer = folder / "outer.html"
    outer.write_text(OUTER.format(frames=frames, script=script, given=json.dumps(given)), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", outer.as_uri()]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if result.returncode:
        pytest.skip(f"Chromium does not run here: {result.stderr[-200:]}")
    found = json.loads(html.unescape(re.search(r"<pre>(.*?)</pre>", result.stdout, re.DOTALL)[1]))
    for one in found:
        assert "error" not in one, one["error"]
    return [one.get("value") for one in found]


def probed(pages, probe, folder):
    """Return the results of the body of a function of a document d and its window w for pages: (HTML, width)."""
    htmls, widths = zip(*pages, strict=True)
    return browse(folder, htmls, f"const d = document, w = window; {probe}", widths=widths)
