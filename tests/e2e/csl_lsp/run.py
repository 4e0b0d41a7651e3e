#!/usr/bin/env python3
"""Sessions with csl-lsp through its real binary: one test per capability. Usage: run.py PATH_OF_CSL_LSP [test names]"""
import pathlib
import shutil
import sys
import tempfile
import time
import unittest

from client import Client

HERE = pathlib.Path(__file__).resolve().parent
BINARY = None

LAYOUT = """\
param width: u16;
const memcpy = @import_module("<memcpy/get_params>", .{ .width = width, .height = 1 });
layout {
  @set_rectangle(width, 1);
  for (@range(u16, width)) |x| {
    @set_tile_code(x, 0, "pe.csl", .{ .memcpy_params = memcpy.get_params(x), .n = 2 * width });
  }
  @export_name("y", [*]f32, true);
  @export_name("compute", fn () void);
}
"""

PE = """\
param memcpy_params: comptime_struct;
// Elements of every vector.
param n: u16;
const sys = @import_module("<memcpy/memcpy>", memcpy_params);
const helper = @import_module("helper.csl", .{ .count = n });
const Pair = struct { first: i16, second: f32 };
const twice: u16 = 2 * n;
var y = @zeros([n]f32);  // the result
var pair = Pair{ .first = 1, .second = 2.0 };
const y_ptr: [*]f32 = &y;

fn scale(value: f32, by: f32) f32 {
  const product = value * by;
  return product;
}

fn compute() void {
  for (@range(u16, n)) |i| {
    y[i] = scale(y[i], pair.second);
  }
  helper.step();
  sys.unblock_cmd_stream();
}

comptime {
  @export_symbol(y_ptr, "y");
  @export_symbol(compute);
}
"""

HELPER = """\
param count: u16;
var steps: u16 = 0;
fn step() void {
  steps += count;
}
"""

SCRIPT = "cslc --arch=wse3 ./layout.csl --fabric-dims=11,3 \\\n  --params=width:4 --memcpy --channels=1 -o out\n"


def line_of(text, part):
    return next(i for i, line in enumerate(text.split("\n")) if part in line)


def find(text, part, name=None):
    """(line, character) of `name` in the first line with `part`."""
    line = line_of(text, part)
    return line, text.split("\n")[line].index(name or part)


def edited(text, edits):
    """Applies the edits of one file (ASCII)."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(p):
        return min(starts[min(p["line"], len(lines))] + p["character"], len(text))
    for edit in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        text = text[:offset(edit["range"]["start"])] + edit["newText"] + text[offset(edit["range"]["end"]):]
    return text


class Session(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        root = self.folder / "program"
        root.mkdir()
        for name, text in (("layout.csl", LAYOUT), ("pe.csl", PE), ("helper.csl", HELPER), ("commands.sh", SCRIPT)):
            (root / name).write_text(text)
        self.client = Client(BINARY, root, self.folder / "cache")
        self.addCleanup(self.tidy)

    def tidy(self):
        if self.client.server.poll() is None:
            self.client.server.kill()
            self.client.server.wait()
        for stream in (self.client.server.stdin, self.client.server.stdout, self.client.server.stderr):
            stream.close()
        shutil.rmtree(self.folder)

    def settled(self, *names):
        for name in names:
            self.client.open(name)
        self.client.settle()

    # ---- lifecycle

    def test_lifecycle(self):
        self.assertEqual(self.client.capabilities["positionEncoding"], "utf-16")
        self.assertEqual(self.client.capabilities["textDocumentSync"]["change"], 2)
        self.assertEqual(self.client.answer("no/such", {})["error"]["code"], -32601)
        self.assertEqual(self.client.end(), 0)

    def test_exit_without_shutdown(self):
        self.client.notify("exit", None)
        self.assertEqual(self.client.server.wait(10), 1)

    def test_after_shutdown(self):
        self.client.request("shutdown", None)
        self.assertEqual(self.client.answer("textDocument/hover", {})["error"]["code"], -32600)

    def test_malformed(self):
        self.client.send_bytes(b"Content-Length: 3\r\n\r\n{]}")
        self.assertEqual(self.client.receive()["error"]["code"], -32700)
        for body in (b"[]", b"7", b'{"id": 1}', b'{"id": {}, "method": "x"}', b'{"id": 1, "method": 5}'):
            self.client.send_bytes(b"content-length:%d\r\n\r\n%s" % (len(body), body))
            self.assertIn(self.client.receive()["error"]["code"], (-32600, -32602), body)
        self.assertEqual(self.client.answer("textDocument/hover", {"position": "here"})["error"]["code"], -32602)
        for number in (1e99, "1", None, -1):
            self.client.open("pe.csl")
            self.client.answer("textDocument/hover", self.client.at("pe.csl", number, number))
        self.client.notify("textDocument/didChange", {"textDocument": 3})
        self.client.send_bytes(b"Garbage: yes\r\n\r\n")
        self.client.open("pe.csl")
        self.client.change("pe.csl", {"range": {"start": {"line": 90000, "character": 7},
                                                "end": {"line": 1, "character": 99999}}, "text": "x"})
        self.assertEqual(self.client.end(), 0)

    def test_no_messages(self):
        self.client.send_bytes(b"x" * 20000)
        self.assertEqual(self.client.server.wait(10), 1)

    # ---- diagnostics

    def test_syntax_while_typing(self):
        self.settled("pe.csl")
        self.assertEqual(self.client.diagnostics[self.client.uri("pe.csl")], [])
        line, _ = find(PE, "const twice")
        end = len("const twice: u16 = 2 * n")
        self.client.change("pe.csl", {"range": {"start": {"line": line, "character": end},
                                                "end": {"line": line, "character": end + 1}}, "text": ""})
        got = self.client.wait_for("pe.csl", lambda d: d)
        self.assertEqual(len(got), 1)
        self.assertIn("expected ';'", got[0]["message"])
        self.assertEqual(got[0]["severity"], 1)
        self.assertEqual(got[0]["range"]["start"], {"line": line, "character": end})
        self.client.change("pe.csl", {"range": {"start": {"line": line, "character": end},
                                                "end": {"line": line, "character": end}}, "text": ";"})
        self.assertEqual(self.client.wait_for("pe.csl", lambda d: not d), [])

    def test_semantics_with_the_layout(self):
        self.settled("pe.csl")
        line, column = find(PE, "y[i] = scale", "scale")
        self.client.change("pe.csl", {"range": {"start": {"line": line, "character": column},
                                                "end": {"line": line, "character": column + 5}}, "text": "scalf"})
        got = self.client.wait_for("pe.csl", lambda d: d)
        self.assertIn("scalf", got[0]["message"])
        self.assertIn("did you mean 'scale'?", got[0]["message"])
        self.assertEqual(got[0]["severity"], 1)
        self.assertEqual(got[0]["range"]["end"], {"line": line, "character": column + 5})

    def test_errors_in_files_that_are_imported(self):
        self.settled("layout.csl", "helper.csl")
        self.client.change("helper.csl", {"text": HELPER.replace("steps += count", "steps += 1.5")})
        got = self.client.wait_for("helper.csl", lambda d: d)
        self.assertTrue(got and got[0]["range"]["start"]["line"] == 3, got)

    def test_a_file_without_layout(self):
        text = "param n: u16;\nparam c: color;\nvar a = @zeros([n]f32);\nfn f() void { b = 1; }\ncomptime { @export_symbol(f); }\n"
        (self.client.root / "alone").mkdir()
        self.client.open("alone/one.csl", text)
        got = self.client.wait_for("alone/one.csl", lambda d: d)
        self.assertIn("'b'", got[0]["message"])
        self.assertIn("guessed", got[0]["message"])
        self.assertEqual(got[0]["severity"], 2)

    def test_closed_documents_have_none(self):
        self.client.open("pe.csl", "const a = ;\n")
        self.assertTrue(self.client.wait_for("pe.csl", lambda d: d))
        self.client.close("pe.csl")
        self.assertEqual(self.client.wait_for("pe.csl", lambda d: not d), [])

    def test_fast_on_the_largest_file(self):
        lib = HERE.parents[2] / "compiler/csl/lib/collectives_2d/pe.csl"
        text = "\n".join([lib.read_text()] * 10)  # ten times the largest file
        self.client.open("big.csl", text)
        self.client.settle()
        times = []
        for _ in range(5):
            begin = time.monotonic()
            self.client.diagnostics.pop(self.client.uri("big.csl"), None)
            self.client.change("big.csl", {"range": {"start": {"line": 0, "character": 0},
                                                     "end": {"line": 0, "character": 0}}, "text": "// x\n"})
            self.client.wait_for("big.csl", lambda d: True)
            times.append(time.monotonic() - begin)
        print(f"diagnostics of {text.count(chr(10))} lines: {sorted(times)[2] * 1000:.0f} ms")
        self.assertLess(sorted(times)[2], 0.2)

    # ---- what is where

    def hover(self, name, text, part, word=None):
        got = self.client.request("textDocument/hover", self.client.at(name, *find(text, part, word)))
        return got["contents"]["value"] if got else None

    def test_hover(self):
        self.settled("pe.csl")
        got = self.hover("pe.csl", PE, "const twice", "twice")
        self.assertIn("const twice: u16 = 2 * n", got)
        self.assertIn("type `u16`, value `16`", got)      # n = 2 * width, width is 4 in commands.sh
        got = self.hover("pe.csl", PE, "param n", "n")
        self.assertIn("value `8`", got)
        self.assertIn("Elements of every vector.", got)
        got = self.hover("pe.csl", PE, "var y", "y")
        self.assertIn("type `[8]f32`", got)
        self.assertIn("32 bytes", got)
        self.assertIn("the result", got)
        self.assertRegex(self.hover("pe.csl", PE, "fn compute", "compute"), r"\d+ bytes of code in pe.csl")
        self.assertIn("fn scale(value: f32, by: f32) f32", self.hover("pe.csl", PE, "y[i] = scale", "scale"))
        self.assertIn("allowed in a comptime block of a tile program", self.hover("pe.csl", PE, "@export_symbol(compute)", "export"))
        self.assertIn("second: f32", self.hover("pe.csl", PE, "pair.second", "second"))
        self.assertIsNone(self.client.request("textDocument/hover", self.client.at("pe.csl", 10, 0)))

    def definition(self, name, text, part, word):
        got = self.client.request("textDocument/definition", self.client.at(name, *find(text, part, word)))
        return got and (got["uri"].rsplit("/", 1)[1], got["range"]["start"]["line"], got["range"]["start"]["character"])

    def test_definition(self):
        self.settled("pe.csl", "layout.csl")
        self.assertEqual(self.definition("pe.csl", PE, "y[i] = scale", "scale"), ("pe.csl", *find(PE, "fn scale", "scale")))
        self.assertEqual(self.definition("pe.csl", PE, "return product", "product"),
                         ("pe.csl", *find(PE, "const product", "product")))
        self.assertEqual(self.definition("pe.csl", PE, "y[i] = ", "i]"), ("pe.csl", *find(PE, "|i|", "i|")))
        self.assertEqual(self.definition("pe.csl", PE, "helper.step", "step"), ("helper.csl", *find(HELPER, "fn step", "step")))
        self.assertEqual(self.definition("pe.csl", PE, '"helper.csl"', "helper.csl"), ("helper.csl", 0, 0))
        self.assertEqual(self.definition("pe.csl", PE, "pair.second", "second"), ("pe.csl", *find(PE, "const Pair", "second")))
        self.assertEqual(self.definition("pe.csl", PE, ".count = n", "count"), ("helper.csl", *find(HELPER, "param count", "count")))
        self.assertEqual(self.definition("layout.csl", LAYOUT, ".n = 2", "n ="), ("pe.csl", *find(PE, "param n", "n:")))
        file, line, _ = self.definition("pe.csl", PE, "sys.unblock", "unblock")
        self.assertEqual(file, "memcpy.csl")
        library = (HERE.parents[2] / "compiler/csl/lib/memcpy/memcpy.csl").read_text().split("\n")
        self.assertIn("unblock_cmd_stream", library[line])
        self.assertIsNone(self.definition("pe.csl", PE, "y[i] = ", "= "))

    def test_circles_end(self):
        self.client.open("c.csl", "const a = b.x;\nconst b = a.y;\nconst c: d = d;\nconst d: c = c;\nconst e = c.z;\n")
        for line in range(5):
            for column in (6, 11, 12):
                self.client.request("textDocument/hover", self.client.at("c.csl", line, column))
                self.client.request("textDocument/definition", self.client.at("c.csl", line, column))

    def test_references(self):
        self.settled("pe.csl")
        got = self.client.request("textDocument/references", self.client.at(
            "pe.csl", *find(PE, "param n", "n:"), context={"includeDeclaration": True}))
        places = {(g["uri"].rsplit("/", 1)[1], g["range"]["start"]["line"]) for g in got}
        self.assertEqual(places, {("pe.csl", line_of(PE, p)) for p in
                                  ("param n", ".count = n", "const twice", "var y", "for (@range")} |
                         {("layout.csl", line_of(LAYOUT, ".n = 2"))})
        got = self.client.request("textDocument/references", self.client.at(
            "helper.csl", *find(HELPER, "fn step", "step"), context={"includeDeclaration": False}))
        self.assertEqual([(g["uri"].rsplit("/", 1)[1], g["range"]["start"]["line"]) for g in got],
                         [("pe.csl", line_of(PE, "helper.step"))])

    # ---- rename

    def rename(self, name, text, part, word, new):
        return self.client.answer("textDocument/rename", self.client.at(name, *find(text, part, word), newName=new))

    def texts_after(self, changes):
        return {uri.rsplit("/", 1)[1]: edited((self.client.root / uri.rsplit("/", 1)[1]).read_text(), edits)
                for uri, edits in changes.items()}

    def test_rename_in_all_files(self):
        self.settled("pe.csl")
        texts = self.texts_after(self.rename("pe.csl", PE, "param n", "n:", "elements")["result"]["changes"])
        self.assertEqual(set(texts), {"pe.csl", "layout.csl"})
        self.assertIn(".elements = 2 * width", texts["layout.csl"])
        self.assertIn("param elements: u16", texts["pe.csl"])
        self.assertIn(".count = elements", texts["pe.csl"])
        self.assertNotRegex(texts["pe.csl"], r"\bn\b")
        for name, text in texts.items():  # the program still compiles
            (self.client.root / name).write_text(text)
            self.client.open(name, text)
        self.client.settle()
        self.assertEqual([self.client.diagnostics[self.client.uri(n)] for n in texts], [[], []])

    def test_rename_keeps_the_hosts_names(self):
        self.settled("pe.csl")
        texts = self.texts_after(self.rename("pe.csl", PE, "fn compute", "compute", "run")["result"]["changes"])
        self.assertIn('@export_symbol(run, "compute")', texts["pe.csl"])
        self.assertIn("fn run() void", texts["pe.csl"])

    def test_rename_refuses(self):
        self.settled("pe.csl")
        prepared = self.client.request("textDocument/prepareRename", self.client.at("pe.csl", *find(PE, "fn scale", "scale")))
        self.assertEqual(prepared["placeholder"], "scale")
        for part, word, new, why in (("@zeros", "zeros", "x", "builtin"), ("const twice", "twice", "y", "declared already"),
                                     ("const twice", "twice", "while", "no name"), ("const twice", "twice", "a b", "no name"),
                                     ("const twice", "twice", "f32", "type of the language"),
                                     ("const product", "product", "by", "declared already"),
                                     ("const product", "product", "n", "declared already"),
                                     ("sys.unblock", "unblock", "x", "library"), ("var y", "var", "x", "nothing")):
            got = self.rename("pe.csl", PE, part, word, new)
            self.assertIn(why, got.get("error", {}).get("message", ""), (word, new, got))

    # ---- writing

    def complete(self, name, text, line, character):
        self.client.change(name, {"text": text})
        got = self.client.request("textDocument/completion", self.client.at(name, line, character))
        return {item["label"]: item for item in got["items"]}

    def typed(self, part, line_text):
        """PE with one more line behind that with `part`; its number and width."""
        lines = PE.split("\n")
        at = line_of(PE, part) + 1
        return "\n".join(lines[:at] + [line_text] + lines[at:]), at, len(line_text)

    def test_completion(self):
        self.settled("pe.csl")
        got = self.complete("pe.csl", *self.typed("fn compute", "  @set_d"))
        self.assertIn("@set_dsd_base_addr", got)
        self.assertIn("@fadds", got)
        got = self.complete("pe.csl", *self.typed("const twice", 'const t = @import_module("<ti'))
        self.assertIn("<time>", got)
        self.assertIn("helper.csl", got)
        got = self.complete("pe.csl", *self.typed("fn compute", "  helper."))
        self.assertEqual(set(got), {"count", "steps", "step"})
        got = self.complete("pe.csl", *self.typed("fn compute", "  pair.fi"))
        self.assertEqual(set(got), {"first", "second"})
        got = self.complete("pe.csl", *self.typed("fn compute", "  sys.un"))
        self.assertIn("unblock_cmd_stream", got)
        got = self.complete("pe.csl", *self.typed("const product", "  retu"))
        for name in ("product", "value", "twice", "scale", "return", "f32", "EAST"):
            self.assertIn(name, got)
        self.assertNotIn("first", got)
        got = self.complete("pe.csl", *self.typed("const twice", "const d = @get_dsd(mem1d_dsd, .{ ."))
        self.assertIn("tensor_access", got)
        got = self.complete("pe.csl", *self.typed("const twice", 'const h = @import_module("helper.csl", .{ .'))
        self.assertEqual(set(got), {"count"})
        self.assertEqual(self.complete("pe.csl", *self.typed("const twice", "// say @")), {})

    def signature(self, line_text):
        text, line, width = self.typed("fn compute", line_text)
        self.client.change("pe.csl", {"text": text})
        return self.client.request("textDocument/signatureHelp", self.client.at("pe.csl", line, width))

    def test_signature_help(self):
        self.settled("pe.csl")
        got = self.signature("  y[0] = scale(y[1], ")
        self.assertEqual(got["signatures"][0]["label"], "fn scale(value: f32, by: f32) f32")
        self.assertEqual([p["label"] for p in got["signatures"][0]["parameters"]], ["value", "by"])
        self.assertEqual(got["activeParameter"], 1)
        got = self.signature("  @increment_dsd_offset(y, 1, ")
        self.assertIn("dsd, elements, type", got["signatures"][0]["label"])
        self.assertEqual(got["activeParameter"], 2)
        self.assertIsNone(self.signature("  y[0] = 1;"))

    def test_document_symbols(self):
        self.settled("pe.csl")
        got = self.client.request("textDocument/documentSymbol", {"textDocument": {"uri": self.client.uri("pe.csl")}})
        self.assertEqual([s["name"] for s in got], ["memcpy_params", "n", "sys", "helper", "Pair", "twice", "y", "pair",
                                                    "y_ptr", "scale", "compute"])
        symbols = {s["name"]: s for s in got}
        self.assertEqual([c["name"] for c in symbols["Pair"]["children"]], ["first", "second"])
        self.assertEqual(symbols["scale"]["range"]["start"]["line"], line_of(PE, "fn scale"))
        self.assertEqual(symbols["scale"]["range"]["end"]["line"], line_of(PE, "return product") + 1)
        self.assertEqual(symbols["scale"]["kind"], 12)

    def test_formatting(self):
        messy = PE.replace("  const product = value * by;", "const product=value*by  ;   // so")
        self.client.open("pe.csl", messy)
        edits = self.client.request("textDocument/formatting", {
            "textDocument": {"uri": self.client.uri("pe.csl")}, "options": {"tabSize": 2, "insertSpaces": True}})
        self.assertEqual(edited(messy, edits), PE.replace("value * by;", "value * by;  // so"))
        self.client.change("pe.csl", {"text": PE})
        self.assertEqual(self.client.request("textDocument/formatting", {
            "textDocument": {"uri": self.client.uri("pe.csl")}, "options": {}}), [])

    def test_semantic_tokens(self):
        self.settled("pe.csl")
        legend = self.client.capabilities["semanticTokensProvider"]["legend"]["tokenTypes"]
        data = self.client.request("textDocument/semanticTokens/full",
                                   {"textDocument": {"uri": self.client.uri("pe.csl")}})["data"]
        lines, line, column, found = PE.split("\n"), 0, 0, {}
        for d_line, d_column, length, kind, _ in zip(*[iter(data)] * 5):
            line, column = line + d_line, d_column if d_line else column + d_column
            found.setdefault(lines[line][column:column + length], set()).add(legend[kind])
        for name, kind in (("scale", "function"), ("helper", "namespace"), ("second", "property"), ("Pair", "type"),
                           ("value", "parameter"), ("@zeros", "macro"), ("f32", "type"), ("y", "variable")):
            self.assertEqual(found.get(name), {kind}, name)

    # ---- positions

    def test_utf16_and_bytes(self):
        text = 'const s = "äß🙂"; const zz = 1;\nconst a = zz;\n'
        self.client.open("u.csl", text)
        got = self.client.request("textDocument/definition", self.client.at("u.csl", 1, 10))
        self.assertEqual(got["range"]["start"], {"line": 0, "character": 24})  # äß are one unit each, 🙂 is two
        self.client.change("u.csl", {"range": {"start": {"line": 0, "character": 13}, "end": {"line": 0, "character": 15}},
                                     "text": "x"})
        got = self.client.request("textDocument/definition", self.client.at("u.csl", 1, 10))
        self.assertEqual(got["range"]["start"], {"line": 0, "character": 23})
        other = Client(BINARY, self.client.root, self.folder / "cache", encodings=["utf-8", "utf-16"])
        self.assertEqual(other.capabilities["positionEncoding"], "utf-8")
        other.open("u.csl", text)
        got = other.request("textDocument/definition", other.at("u.csl", 1, 10))
        self.assertEqual(got["range"]["start"], {"line": 0, "character": 28})
        self.assertEqual(other.end(), 0)


if __name__ == "__main__":
    BINARY = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main(verbosity=1)
