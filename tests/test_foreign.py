"""Operations that the project does not know: read whatever they look like, kept, printed back, refused by name."""

from __future__ import annotations

import pytest

import ptoasm
from ptoasm.ir import FOREIGN, Module
from ptoasm.parser import parse
from ptoasm.printer import print_module
from ptoasm.verifier import verify

KEPT = [
    "memref.store %c, %m[%i, %j] : memref<?x?xi32>",
    '%s:3, %t = foo.bar.baz<4> "str \\22 \\0A {" [%c, %x] (%y) -> (i32, i32, i32), f32',
    'foo.bytes "\\00\\FF caf\\C3\\A9 ü 日本 \\\\ \\"" : !foo.bytes<"x>y">',
    "cf.cond_br %p, ^bb1(%c : i32), ^bb2",
    "affine.for %i = 0 to affine_map<(d0) -> (d0 + 1)>(%n) {\n    affine.yield\n  }",
    'pto.vecscope {\n    %mask = pto.pset_b32 "PAT_ALL" : !pto.mask<b32>\n    // a } in a comment\n  } {llvm.loop}',
    "pto.thistogram ins(%x, %y {mode = #pto.whatever<X>} : !t, !u)\n      outs(%y : !u)\n      {more = 1}",
    'emitc.call "f"(%x) {args = [0 : index, dense<[1, 2]> : tensor<2xi32>]} :\n    (!t) -> ()',
    "test.op %a,\n    %b,\n    %c : i32, i32, i32",
    "%r = linalg.generic {maps = [#map]} ins(%x : !t) outs(%y : !u) {\n"
    "  ^bb0(%in: f32):\n    linalg.yield %in : f32\n  } -> tensor<4xf32>",
    "arith.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>",
    'arith.constant "text" : !foo.string',
    "arith.constant #alias : vector<2xf32>",
    "pto.get_buf [#pto.pipe_event_type<TVEC>, 0] {mode = 0}",
    'gpu.launch blocks(%a, %b) in (%c = %d) threads(%e) {\n    "}"\n  } loc(#loc1)',
    "scf.parallel (%i) = (%a) to (%b) step (%c) {\n    scf.reduce\n  }",
    "foo.nothing",
    "foo.nothing {}",
    "foo.less %a < %b",
    "foo.arrow %a -> %b : i32 -> (i32 -> i32)",
    'foo.locations %a loc(fused["a", #loc])',
]


@pytest.mark.parametrize("text", KEPT, ids=lambda text: text.split("(")[0][:30])
def test_unknown_operations_are_kept_as_they_are_written(text: str) -> None:
    program = f"func.func @k() {{\n  {text}\n  return\n}}\n"
    module = parse(program)
    assert verify(module) == []
    operations = [op for function in module.functions for op in function.walk()]
    assert [op.shape.name for op in operations[1:]] == ["return"]
    assert operations[0].shape.form == FOREIGN
    assert print_module(module) == program


@pytest.mark.parametrize("text", [t for t in KEPT if "get_buf" not in t], ids=lambda text: text.split("(")[0][:30])
def test_and_refused_by_a_run(text: str) -> None:
    with pytest.raises(ptoasm.PtoError) as error:
        ptoasm.run(f"func.func @k() {{\n  {text}\n  return\n}}\n")
    (diagnostic,) = error.value.diagnostics
    assert diagnostic.code == "RUN-05"
    assert diagnostic.span is not None
    assert diagnostic.source.position(diagnostic.span.start)[0] == 2
    assert diagnostic.op is not None and diagnostic.op in text


ORDERING = [
    "pto.barrier <PIPE_V>",
    "pto.barrier #pto.pipe<PIPE_ALL>",
    "pto.barrier_sync [<TVEC>]",
    "pto.set_flag[<PIPE_MTE2>, <PIPE_V>, <EVENT_ID0>]",
    'pto.wait_flag["PIPE_MTE2", "PIPE_V", "EVENT_ID0"]',
    "pto.record_event[#pto.sync_op_type<TLOAD>, #pto.sync_op_type<TVEC>, #pto.event<EVENT_ID0>]",
    "pto.wait_event [<TLOAD>, <TVEC>, <EVENT_ID0>]",
    "pto.get_buf [#pto.pipe_event_type<TVEC>, 0]",
    "pto.rls_buf [#pto.pipe_event_type<TVEC>, 0] {mode = 1}",
]


@pytest.mark.parametrize("text", ORDERING)
def test_what_orders_other_operations_is_kept_and_does_nothing(text: str) -> None:
    program = f"func.func @k() {{\n  {text}\n  return\n}}\n"
    assert print_module(parse(program)) == program
    assert verify(parse(program)) == []
    ptoasm.run(program)


def known(text: str) -> Module:
    module = parse(text)
    assert module.diagnostics == []
    return module


def test_their_results_are_names_and_take_their_type_from_the_first_use() -> None:
    text = """func.func @k() {
  %t = foo.tile : !pto.tile<vec, 4x8xf32>
  %s = pto.tcolsum %t : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>
  %u = pto.tcolsum %t : !pto.tile<vec, 2x8xf32> -> !pto.tile<vec, 1x8xf32>
  %v = pto.tcolsum %w : !pto.tile<vec, 4x8xf32> -> !pto.tile<vec, 1x8xf32>
  return
}
"""
    assert [d.code for d in parse(text).diagnostics] == ["TYPE-01", "NAME-01"]


def test_aliases_and_foreign_statements_stand_where_they_stood() -> None:
    text = """#map = affine_map<(d0) -> (d0 floordiv 4)>
#set = {a = "}", b = [1, {c = #map}]}
!mine = !pto.tile_buf<loc=vec, dtype=f32, rows=2, cols=8,
                      v_row=2, v_col=8>
module attributes {"a key" = #set, pto.target_arch = "a5", unit} {
  memref.global "private" constant @table : memref<4xf32> = dense<[1.0, 2.0, 3.0, 4.0]>
  func.func private @declared(i32, !pto.ptr<f32>) -> f32
  func.func @k(%x: !pto.tile_buf<vec, 2x8xf32>) {
    return
  }
  foo.global {x = 1}
  func.func @l() attributes {a = dense<"0xDEADBEEF"> : tensor<1xi32>} {
    return
  }
}
#loc = loc("a.py":1:2)
"""
    module = known(text.replace("tile_buf<vec, 2x8xf32>)", "mine)").replace("!pto.mine", "!mine"))
    assert [f.name for f in module.functions] == ["declared", "k", "l"]
    assert print_module(module) == text
    assert verify(module) == []


def test_modules_in_a_module_keep_their_functions_apart() -> None:
    text = """module attributes {pto.target_arch = "a5"} {
  module @vector attributes {pto.kernel_kind = #pto.kernel_kind<vector>} {
    func.func @k() {
      return
    }
    }
  module @cube {
    func.func @k() {
      return
    }
    func.func @k() {
      return
    }
  }
}
"""
    module = parse(text)
    assert module.attributes == {"pto.target_arch": '"a5"'}
    assert [(d.code, d.source.position(d.span.start)[0]) for d in module.diagnostics if d.span] == [("NAME-02", 11)]
    printed = print_module(module)
    assert printed.split() == text.split()
    assert print_module(parse(printed)) == printed


def test_labels_give_blocks_arguments() -> None:
    text = """func.func @k(%a: i32) {
  cf.br ^bb1(%a : i32)
  ^bb1(%z: i32):
  %b = arith.addi %a, %z : i32
  cf.br ^bb2
  ^bb2:
  return
}
"""
    assert print_module(known(text)) == text


def test_a_fault_in_one_function_leaves_the_others_checked() -> None:
    text = """module {
  func.func @one(%x: !pto.tile_buf<vec, 4x8xf32>) {
    pto.tcolsum ins(%x : !pto.tile_buf<vec, 4x8xf32> outs(%x : !pto.tile_buf<vec, 1x8xf32>)
    return
  }
  func.func @two(%x: !pto.tile_buf<vec, 4x8xf32> {
    return
  }
  func.func @three(%x: !pto.tile_buf<vec, 4x8xf32>) {
    scf.for %i = %x {
      %y = arith.addi %nothing, %x : i32
    }
    return
  }
  func.func @four(%x: !pto.tile_buf<vec, 4x8xf32>, %y: !pto.tile_buf<vec, 2x8xf32>) {
    pto.tcolsum ins(%x : !pto.tile_buf<vec, 4x8xf32>) outs(%z : !pto.tile_buf<vec, 1x8xf32>)
    pto.tcolsum ins(%x : !pto.tile_buf<vec, 4x8xf32>) outs(%y : !pto.tile_buf<vec, 2x8xi32>)
    return
  }
}
"""
    found = [(d.code, d.source.position(d.span.start)[0]) for d in verify(parse(text)) if d.span is not None]
    assert ("NAME-01", 16) in found and ("TYPE-01", 17) in found
    lines = [line for code, line in found if code.startswith("PARSE")]
    assert lines[0] == 3 and any(6 <= line <= 7 for line in lines) and 10 in lines
    assert not [line for _, line in found if line > 17]


@pytest.mark.parametrize(
    "text",
    [
        "foo.bar (",
        "foo.bar {",
        'foo.bar "',
        'foo.bar "\\',
        "^bb0(",
        "^",
        "#a = {",
        "!t = !pto.tile<",
        "%a = ",
        "%a:3 = foo.bar",
        "scf.while (%a = ",
        "pto.subview %a[",
        "pto.subview %a[%b] sizes [x] : i32",
        "pto.subview %a[%b, %c] sizes [1] : !pto.tile<vec, 4x8xf32>",
        "arith.addi",
        "arith.cmpi %a, %b : i32",
        "arith.constant : i32",
        "arith.constant {",
        "func.call @",
        "func.func @k(%a: ",
        "module {",
        "}",
        "} else {",
        "} do {",
        "pto.load_scalar %a : i32",
        "scf.if %c {\n} else {\n} else {\n}",
        "pto.section.vector {\n} else {\n}",
        "pto.addptr %a, %b : <",
        "pto.addptr %a, %b : <f32, gm> -> <",
        "loc(",
        "attributes {",
        "\x00",
        "é.ü %a",
    ],
)
def test_anything_is_an_error_and_never_an_exception(text: str) -> None:
    for program in (text, f"func.func @k() {{\n{text}", f"func.func @k() {{\n{text}\n  return\n}}\n"):
        module = parse(program)
        verify(module)
        print_module(module)


def test_a_part_of_itself_is_an_error_and_no_endless_search() -> None:
    part = "%d = pto.subview %d[%c, %c] sizes [1, 8] : !pto.tile<vec, 1x8xf32> -> !pto.tile<vec, 1x8xf32>"
    module = parse(f"func.func @k(%c: index) {{\n  {part}\n  return\n}}\n")
    assert [d.code for d in verify(module)] == ["NAME-03"]
    same = "%d = pto.tassign %d, %a : !pto.tile<vec, 1x8xf32> -> !pto.tile<vec, 1x8xf32>"
    verify(parse(f"func.func @k(%a: i64) {{\n  {same}\n  return\n}}\n"))
