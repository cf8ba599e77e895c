// An object whose members are changed without reading the others. It is a list of parts: a part is
// a run of members as the text has them, or one member that an operation may name.
//
//   {"a":1,"b":2,"c":3,"d":4}  asked for c  ->  [ "a":1,"b":2 ]  [ c ]  [ "d":4 ]
//
// So opening costs one walk over the text, and each change costs one look-up.

import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import { JsonScanner, readString, SCAN_STEP_BYTES } from './json-scanner.ts'
import { hashOfName } from './name-hash.ts'
import type { OpenArray } from './open-array.ts'

/** A value of a document under change: unopened JSON text, or an opened container. */
export type EditedValue = Buffer | OpenObject | OpenArray

/** A member that an operation may change. */
export interface EditedMember {
  /** The name with its quotes, as the text has it. */
  readonly nameText: Buffer
  /** Undefined after the member was removed. */
  value: EditedValue | undefined
}

/** The member names that the changes of a document use, at any depth. */
export class AskedNames {
  readonly #names: ReadonlySet<string>
  readonly #hashes: ReadonlySet<number>

  constructor(names: Iterable<string>) {
    this.#names = new Set(names)
    this.#hashes = new Set(Array.from(this.#names, hashOfName))
  }

  /** The name that the scanner has just read, if it is one of these; otherwise undefined. */
  find(scanner: JsonScanner): string | undefined {
    if (!this.#hashes.has(scanner.nameHash)) return undefined
    const { bytes, nameStart, nameEnd, nameHasEscapes } = scanner
    const name = readString(bytes, nameStart, nameEnd, nameHasEscapes)
    return this.#names.has(name) ? name : undefined
  }
}

/** One object while transforms change it. Its members keep their order. */
export class OpenObject {
  readonly parts: (Buffer | EditedMember)[] = []
  readonly #members = new Map<string, EditedMember>()

  /**
   * `text` is an object from a stored document. Only members whose names are in `asked` can be
   * changed.
   */
  static *open(text: Buffer, asked: AskedNames): Sliced<OpenObject> {
    const opened = new OpenObject()
    const scanner = new JsonScanner(text)
    const meter = new StepMeter(SCAN_STEP_BYTES)
    let runStart = 1
    let lastEnd = 1
    scanner.enterObject()
    while (scanner.nextMember()) {
      const { nameStart, nameEnd } = scanner
      const name = asked.find(scanner)
      scanner.beginValue()
      const valueStart = scanner.position
      while (!scanner.scanSome(SCAN_STEP_BYTES)) yield
      const end = scanner.position
      if (name !== undefined) {
        opened.#addRun(text.subarray(runStart, lastEnd))
        const nameText = text.subarray(nameStart - 1, nameEnd + 1)
        opened.#addMember(name, nameText, text.subarray(valueStart, end))
        runStart = end + 1
      }
      if (meter.spend(end - nameStart + MEMBER_COST_BYTES)) yield
      lastEnd = end
    }
    opened.#addRun(text.subarray(runStart, lastEnd))
    return opened
  }

  get(name: string): EditedValue | undefined {
    return this.#members.get(name)?.value
  }

  /** Sets a member. An existing member keeps its place; a new one comes last. */
  set(name: string, value: EditedValue): void {
    const member = this.#members.get(name)
    if (member !== undefined) member.value = value
    else this.#addMember(name, Buffer.from(JSON.stringify(name), 'utf8'), value)
  }

  remove(name: string): void {
    const member = this.#members.get(name)
    if (member === undefined) return
    member.value = undefined
    this.#members.delete(name)
  }

  #addRun(run: Buffer): void {
    if (run.length > 0) this.parts.push(run)
  }

  #addMember(name: string, nameText: Buffer, value: EditedValue): void {
    const member = { nameText, value }
    this.parts.push(member)
    this.#members.set(name, member)
  }
}

/** What a member costs beside its bytes. The unit is bytes. */
const MEMBER_COST_BYTES = 32
