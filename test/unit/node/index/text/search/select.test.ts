import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { TextIndex } from '../../../../../../node/index/text/engine/text-index.ts'
import { FieldMapping } from '../../../../../../node/index/text/mapping/field-mapping.ts'
import {
  runTextSelect,
  SelectionCache,
  type TextSelection,
} from '../../../../../../node/index/text/search/run-text-select.ts'
import type { TextConditions } from '../../../../../../node/index/text/search/text-search.ts'
import { parseQueryString } from '../../../../../../node/query/language/query-string.ts'

const NOTHING_ASKED: TextConditions = {
  query: undefined,
  filter: undefined,
  exclusion: undefined,
  keyPrefix: undefined,
}

class Shelf {
  readonly index = TextIndex.open({ directory: undefined, clock: new ManualClock() })
  readonly cache = new SelectionCache(2 ** 20)
  mapping = new FieldMapping(undefined)
  #sequence = 0

  put(key: string, title: string, { ordinal, expiresAtMs = 0 }: Placed): void {
    const mapped = this.mapping.mapDocument(Buffer.from(key), { title }, expiresAtMs)
    this.#sequence += 1
    const upserts = [{ ...mapped, ordinal }]
    this.index.apply({ sequence: this.#sequence, upserts, deletes: [] })
  }

  delete(key: string): void {
    this.#sequence += 1
    this.index.apply({ sequence: this.#sequence, upserts: [], deletes: [Buffer.from(key)] })
  }

  select(conditions: Partial<TextConditions>, nowMs = 1): TextSelection {
    const request = { conditions: { ...NOTHING_ASKED, ...conditions }, nowMs }
    return runAtOnce(runTextSelect(this, request, this.cache))
  }
}

interface Placed {
  readonly ordinal: number
  readonly expiresAtMs?: number
}

function ordinalsOf({ set }: TextSelection): readonly number[] {
  return set.kind === 'list' ? [...set.ordinals] : []
}

const words = (text: string) => parseQueryString(text)

describe('the selection of a text index', () => {
  let shelf: Shelf

  beforeEach(() => {
    shelf = new Shelf()
    shelf.put('a/1', 'red fox', { ordinal: 10 })
    shelf.put('a/2', 'red dog', { ordinal: 20 })
    shelf.put('b/1', 'red cat', { ordinal: 5, expiresAtMs: 1000 })
  })

  it('contains the ordinals of the documents that meet all conditions', () => {
    expect(ordinalsOf(shelf.select({}))).to.deep.equal([5, 10, 20])
    expect(ordinalsOf(shelf.select({ query: words('title:fox') }))).to.deep.equal([10])
    expect(ordinalsOf(shelf.select({ exclusion: words('title:fox') }))).to.deep.equal([5, 20])
    const keyPrefix = Buffer.from('a/')
    const filter = words('title:red')
    expect(ordinalsOf(shelf.select({ filter, keyPrefix }))).to.deep.equal([10, 20])
  })

  it('comes from the cache until a write or an expiry', () => {
    const filter = words('title:red')
    const first = shelf.select({ filter })
    const again = shelf.select({ filter: words('title:red') }, 999)
    const expired = shelf.select({ filter }, 1000)
    const expiredAgain = shelf.select({ filter }, 1001)
    shelf.delete('a/1')
    const deleted = shelf.select({ filter })
    shelf.put('a/2', 'blue dog', { ordinal: 20 })
    const updated = shelf.select({ filter })
    shelf.index.flush()
    const flushed = shelf.select({ filter })

    expect(again).to.equal(first)
    expect(ordinalsOf(expired)).to.deep.equal([10, 20])
    expect(expiredAgain).to.equal(expired)
    expect(ordinalsOf(deleted)).to.deep.equal([5, 20])
    expect(ordinalsOf(updated)).to.deep.equal([5])
    expect(ordinalsOf(flushed)).to.deep.equal([5])
  })

  it('is computed again under another mapping', () => {
    const filter = words('title:red')
    const first = shelf.select({ filter })
    shelf.mapping = new FieldMapping(undefined)

    const second = shelf.select({ filter })

    expect(ordinalsOf(first)).to.deep.equal([5, 10, 20])
    expect(ordinalsOf(second)).to.deep.equal([])
    expect(second.warnings).to.have.length(1)
  })
})
