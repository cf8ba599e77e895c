import { expect } from 'chai'
import {
  nameOf,
  TABLE_FIELDS_LENGTH_MAX,
  TABLE_FIELDS_MAX,
  type TableField,
  type ValueKind,
} from '../../node/schema/table-field.ts'
import type { TableFields } from '../../node/shard/following/table-fields.ts'

export function fieldOf(name: string, kind: ValueKind = 'string'): TableField {
  return { path: name.split('.'), kind, documentType: undefined }
}

const namesOf = ({ known }: TableFields): readonly string[] => known.map(nameOf)

/** `open` gives the list of one and the same table, as another shard of it sees it. */
export function describeTableFields(
  what: string,
  begin: () => Promise<{ readonly open: () => Promise<TableFields> }>,
): void {
  describe(`table fields: ${what}`, () => {
    let open: () => Promise<TableFields>
    let fields: TableFields
    beforeEach(async () => {
      ;({ open } = await begin())
      fields = await open()
    })

    it('begin empty', async () => {
      await fields.load()

      expect(fields.known).to.deep.equal([])
    })

    it('keep the proposed fields in order, with all members', async () => {
      const proposed = [
        fieldOf('b.c', 'number'),
        { path: ['a.b', 'é\ud800'], kind: 'date', documentType: 'note' } as const,
        fieldOf('', 'object'),
      ]

      await fields.propose(proposed)

      expect(fields.known).to.deep.equal(proposed)
    })

    it('keep the first of two proposals for one name', async () => {
      await fields.propose([fieldOf('a', 'number'), fieldOf('a', 'string')])
      await fields.propose([fieldOf('a', 'boolean'), fieldOf('b')])

      expect(fields.known).to.deep.equal([fieldOf('a', 'number'), fieldOf('b')])
    })

    it('are the same for all openers', async () => {
      const other = await open()

      await fields.propose([fieldOf('a', 'number')])
      await other.propose([fieldOf('a', 'string'), fieldOf('b')])
      await fields.load()

      expect(other.known).to.deep.equal([fieldOf('a', 'number'), fieldOf('b')])
      expect(fields.known).to.deep.equal(other.known)
    })

    it('are known to an opener that loads them later', async () => {
      await fields.propose([fieldOf('a'), fieldOf('b')])
      const other = await open()

      await other.load()

      expect(other.known).to.deep.equal(fields.known)
    })

    it('form one list however many openers propose at once', async () => {
      const others = await Promise.all(Array.from({ length: 4 }, open))

      const proposals = others.flatMap((one, at) =>
        ['a', 'b', 'c'].map((word) => one.propose([fieldOf(word), fieldOf(`${word}${at}`)])),
      )
      await Promise.all(proposals)
      await Promise.all(others.map((one) => one.load()))

      const [first, ...rest] = others.map(({ known }) => known)
      expect(first).to.have.length(3 + 3 * 4)
      for (const one of rest) expect(one).to.deep.equal(first)
    })

    it('grow only at the end', async () => {
      const seen: (readonly TableField[])[] = []
      const stop = fields.onGrown(() => seen.push(fields.known))
      await fields.propose([fieldOf('a')])
      await fields.propose([fieldOf('b'), fieldOf('a')])
      await fields.propose([fieldOf('b')])
      stop()
      await fields.propose([fieldOf('c')])

      expect(seen.map((known) => known.map(nameOf))).to.deep.equal([['a'], ['a', 'b']])
      expect(namesOf(fields)).to.deep.equal(['a', 'b', 'c'])
    })

    it('are bounded in number, and drop further proposals without waiting', async () => {
      const many = Array.from({ length: TABLE_FIELDS_MAX + 5 }, (_, at) => fieldOf(`f${at}`))

      await fields.propose(many)
      await fields.propose([fieldOf('more')])

      expect(fields.known).to.deep.equal(many.slice(0, TABLE_FIELDS_MAX))
    })

    it('are bounded in length', async () => {
      const long = 'é'.repeat(500)
      const count = Math.ceil(TABLE_FIELDS_LENGTH_MAX / 504)
      const many = Array.from({ length: count + 5 }, (_, at) =>
        fieldOf(`${long}${String(at).padStart(4, '0')}`),
      )

      await fields.propose(many)

      expect(fields.known).to.have.length(count)
    })
  })
}
