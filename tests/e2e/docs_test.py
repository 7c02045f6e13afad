"""The documents and the code agree: what is cited exists, and links lead somewhere."""
import fnmatch
import importlib.util
import re


def test_every_test_that_the_specification_cites_exists(box):
    text = (box.root / "SPECIFICATION.md").read_text()
    sources = "\n".join(file.read_text() for file in (box.root / "src").rglob("*_test.cc"))
    unit = [cited for cited in re.findall(r"`([A-Z]\w+)\.([A-Z]\w+)`", text) if cited != ("Suite", "Name")]
    assert len(unit) > 30, "the pattern no longer fits the document"
    for suite, name in unit:
        assert re.search(rf"TEST(_[FP])?\({suite},\s*{name}\)", sources), f"no test {suite}.{name}"
    spec = importlib.util.spec_from_file_location("run", box.root / "tests/e2e/run.py")
    run = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(run)
    names = {name.split(": ", 1)[1] for name, _ in run.collect()}
    quoted = [name for name in re.findall(r'"([a-zA-Z][^"|]{20,})"', text) if " " in name]
    assert len(quoted) > 20, "the pattern no longer fits the document"
    for name in quoted:
        assert fnmatch.filter(names, name), f"no end-to-end test called {name!r}"


def test_every_test_that_the_page_of_tools_cites_exists(box):
    text = (box.root / "docs/design/mcp.md").read_text()
    rows = [line for line in text[text.index("## Defects that tests keep out"):].splitlines() if line.startswith("| ")][1:]
    unit = "\n".join(file.read_text() for file in (box.root / "src").rglob("*_test.cc"))
    functions = "\n".join(file.read_text() for file in (box.root / "tests/e2e").glob("*_test.py"))
    for row in rows:
        cited = re.findall(r"`([A-Z]\w+)\.([A-Z]\w+)`", row)
        for suite, name in cited:
            assert re.search(rf"TEST(_[FP])?\({suite},\s*{name}\)", unit), f"no test {suite}.{name}"
        named = re.findall(r"`(test_\w+)`", row)
        for name in named:
            assert f"def {name}(" in functions, f"no test {name}"
        assert cited or named, f"a row without a test: {row}"


def test_links_between_documents_lead_somewhere(box):
    documents = [file for file in box.root.rglob("*.md") if "build" not in file.relative_to(box.root).parts]
    assert len(documents) > 8
    for document in documents:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", document.read_text()):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name} links to {target}"
