// A module of WebAssembly from functions that were written instruction by instruction.

import { unsigned, type Code } from './simd-code.ts'

const I32 = 0x7f
const V128 = 0x7b
const FUNCTION_TYPE = 0x60
const MEMORY_IMPORT = 2
/** The magic and the version of a module. */
const PREAMBLE: Code = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00]

/** How many locals of each type a function has behind its parameters, as its body begins. */
export function localsOf({ i32, v128 }: { readonly i32: number; readonly v128: number }): Code {
  return [2, i32, I32, v128, V128]
}

/**
 * Functions of `parameterCount` parameters, all of them i32, without a result, exported under their names. The module imports
 * `host.memory`.
 */
export function compileModule(
  parameterCount: number,
  bodies: Readonly<Record<string, Code>>,
): WebAssembly.Module {
  const names = Object.keys(bodies)
  const parameters = Array.from({ length: parameterCount }, () => I32)
  const exported = names.flatMap((name, i) => [...nameOf(name), 0, i])
  const functions = Object.values(bodies).flatMap((body) => [...unsigned(body.length), ...body])
  const memory = [...nameOf('host'), ...nameOf('memory'), MEMORY_IMPORT, 0, 0]
  return new WebAssembly.Module(
    Uint8Array.from([
      ...PREAMBLE,
      ...section(1, [1, FUNCTION_TYPE, parameterCount, ...parameters, 0]),
      ...section(2, [1, ...memory]),
      ...section(3, [names.length, ...names.map(() => 0)]),
      ...section(7, [names.length, ...exported]),
      ...section(10, [names.length, ...functions]),
    ]),
  )
}

function section(id: number, content: Code): Code {
  return [id, ...unsigned(content.length), ...content]
}

/** At most 127 characters of ASCII. */
function nameOf(text: string): Code {
  return [text.length, ...Buffer.from(text, 'latin1')]
}
