// The contract of Enrichment, for an index that embeds the field `text` with vectors of four numbers.

import { expect } from 'chai'
import { isServiceError } from '../../lib/errors.ts'
import { encodeArtifact } from '../../node/embedding/artifact.ts'
import type { Enrichment, Made, Source } from '../../node/enrichment/enrichment.ts'
import { isProviderError } from '../../node/providers/contract/provider-error.ts'
import { errorOf } from '../support/error-of.ts'
import { until } from '../support/until.ts'

/** How the model behind an enrichment fails, from now on. */
export type ModelFault =
  'refuses-marked' | 'rate-limited' | 'unavailable' | 'silent' | 'other-dimension'

/** A text with it is refused by a model that has the fault `refuses-marked`. */
export const REFUSED_MARK = 'refuse me'

/** One enrichment under test. */
export interface EnrichmentSubject {
  readonly enrichment: Enrichment
  /** Undefined: the model answers again. */
  fail(fault: ModelFault | undefined): void
  /** How often the model was asked, failed calls included. */
  asked(): number
  /** The vector that the model has for a text. */
  vectorOf(text: string): readonly number[]
  close(): Promise<void>
}

export function describeEnrichment(name: string, open: () => Promise<EnrichmentSubject>): void {
  describe(`an enrichment: ${name}`, () => {
    const never = { signal: new AbortController().signal }
    let subject: EnrichmentSubject
    let enrichment: Enrichment

    beforeEach(async () => {
      subject = await open()
      ;({ enrichment } = subject)
    })

    afterEach(() => subject.close())

    const sourceOf = (document: object): Promise<Source> =>
      enrichment.sourceOf(
        { key: Buffer.from('k'), json: Buffer.from(JSON.stringify(document)) },
        never,
      )
    const sourcesOf = (texts: readonly string[]): Promise<readonly Source[]> =>
      Promise.all(texts.map((text) => sourceOf({ text })))
    const make = (sources: readonly Source[]): Promise<readonly Made[]> =>
      enrichment.make(sources, never)

    it('names a source by what is embedded, and by nothing else of the document', async () => {
      const [one, same, other] = await Promise.all([
        sourceOf({ text: 'tide', price: 1 }),
        sourceOf({ price: 2, text: 'tide', _timestamp: 'now' }),
        sourceOf({ text: 'ebb' }),
      ])

      expect(one.hash).to.have.lengthOf(16)
      expect(same.hash).to.deep.equal(one.hash)
      expect(other.hash).to.not.deep.equal(one.hash)
      expect(subject.asked()).to.equal(0)
    })

    it('makes one vector for each source, in order', async () => {
      const texts = Array.from({ length: enrichment.batch.items }, (_, at) => `text ${at}`)
      const sources = await sourcesOf(texts)

      const made = await make(sources)

      expect(made.map(vectorsOf)).to.deep.equal(texts.map((text) => [subject.vectorOf(text)]))
      expect(made.map(({ kind }) => kind)).to.deep.equal(texts.map(() => 'made'))
      for (const [at, one] of made.entries()) {
        if (one.kind !== 'made') continue
        expect(one.artifact).to.include({ kind: 'dense', ordinal: 0, dimension: 4 })
        expect(one.artifact.sourceHash).to.deep.equal(sources[at]?.hash)
        expect(encodeArtifact(one.artifact).length).to.be.at.least(16)
      }
    })

    it('makes an artifact without rows where nothing is to embed, and asks nobody', async () => {
      const sources = await Promise.all(
        [{}, { text: null }, { text: '' }, { text: ' \n' }].map(sourceOf),
      )

      const made = await make(sources)

      expect(sources.map(({ parts }) => parts)).to.deep.equal([[], [], [], []])
      expect(made.map(vectorsOf)).to.deep.equal([[], [], [], []])
      expect(subject.asked()).to.equal(0)
    })

    it('refuses a document whose field is not a string', async () => {
      for (const text of [7, true, ['a'], { a: 1 }]) {
        const error = await errorOf(() => sourceOf({ text }))

        expect(error).to.have.property('code', 'INVALID_ARGUMENT')
        expect(error).to.have.property('message').that.includes('text')
      }
    })

    it('finds the sources that a model refuses among many', async () => {
      subject.fail('refuses-marked')
      const texts = Array.from({ length: 40 }, (_, at) =>
        at === 3 || at === 31 ? `${REFUSED_MARK} ${at}` : `text ${at}`,
      )

      const made = await make(await sourcesOf(texts))

      const refused = [...made.entries()].filter(([, { kind }]) => kind === 'refused')
      expect(refused.map(([at]) => at)).to.deep.equal([3, 31])
      expect(made.flatMap(vectorsOf)).to.have.lengthOf(38)
    })

    const failures: Readonly<Record<'rate-limited' | 'unavailable', string>> = {
      'rate-limited': 'rate_limited',
      unavailable: 'unavailable',
    }
    for (const fault of ['rate-limited', 'unavailable'] as const) {
      it(`rejects as a whole when the model is ${fault}, and works again afterwards`, async () => {
        const sources = await sourcesOf(['one', 'two'])
        subject.fail(fault)

        const error = await errorOf(() => make(sources))
        subject.fail(undefined)
        const made = await make(sources)

        expect(isProviderError(error) && error.failure.kind).to.equal(failures[fault])
        expect(made.map(({ kind }) => kind)).to.deep.equal(['made', 'made'])
      })
    }

    it('rejects vectors of another dimension than the index has', async () => {
      subject.fail('other-dimension')

      const error = await errorOf(async () => make(await sourcesOf(['one'])))

      expect(isServiceError(error) && !isProviderError(error)).to.equal(true)
      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error)
        .to.have.property('message')
        .that.matches(/5 numbers.* 4/)
    })

    it('ends with the reason of its signal while the model is silent', async () => {
      const stop = new AbortController()
      const sources = await sourcesOf(['one'])
      subject.fail('silent')

      const making = errorOf(() => enrichment.make(sources, { signal: stop.signal }))
      await until(async () => subject.asked() > 0)
      stop.abort(new Error('enough'))

      expect(await making).to.have.property('message', 'enough')
      expect(
        await errorOf(() => enrichment.make(sources, { signal: stop.signal })),
      ).to.have.property('message', 'enough')
    })
  })
}

function vectorsOf(made: Made): readonly (readonly number[])[] {
  if (made.kind !== 'made') return []
  return made.artifact.rows.map(({ vector }) => [...vector])
}
