import { expect } from 'chai'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { GatheredPostings } from '../../../../../../node/index/text/postings/gathered-postings.ts'
import type {
  PositionBlock,
  PositionsWalk,
  PostingsSource,
} from '../../../../../../node/index/text/postings/postings-source.ts'
import { PostingsWriter } from '../../../../../../node/index/text/postings/postings-writer.ts'
import { FieldNorms } from '../../../../../../node/index/text/encoding/field-norms.ts'

/** One block of documents with so many positions each. */
function sourceOf(freqsOfDocs: readonly number[]): PostingsSource {
  const positionsOf = (doc: number): number[] =>
    Array.from({ length: freqsOfDocs[doc] ?? 0 }, (_, i) => i * 3 + doc)
  return {
    docFreq: freqsOfDocs.length,
    blockCount: 1,
    lastDocs: Uint32Array.of(freqsOfDocs.length - 1),
    impacts: undefined,
    decodeDocs: (_block, docs) => {
      docs.set(freqsOfDocs.keys().toArray())
      return freqsOfDocs.length
    },
    decodeFreqs: (_block, freqs) => freqs.set(freqsOfDocs),
    decodePositions: (_block, _freqs, out: PositionBlock) => {
      const all = freqsOfDocs.flatMap((_, doc) => positionsOf(doc))
      out.reserve(all.length)
      out.values.set(all)
      let start = 0
      for (const [doc, freq] of freqsOfDocs.entries()) {
        out.starts[doc] = start
        start += freq
      }
      out.starts[freqsOfDocs.length] = start
    },
    readPositions: (_block, index, _freqs, walk: PositionsWalk) => {
      const positions = positionsOf(index)
      walk.reserve(positions.length)
      walk.values.set(positions)
      walk.length = positions.length
    },
  }
}

/** The bytes of the postings, gathered in one way. */
function bytesOf(gather: (gathered: GatheredPostings) => void, docCount: number): Uint8Array {
  const gathered = new GatheredPostings()
  const writer = new PostingsWriter({
    hasPositions: true,
    norms: FieldNorms.ofAll(new Uint8Array(docCount).fill(1)),
  })
  gather(gathered)
  runAtOnce(gathered.write(writer, docCount, true))
  writer.endTerm()
  return writer.takePending()
}

describe('postings with many positions in a block', () => {
  const source = sourceOf([100_000, 5, 60_000, 1, 40_000])
  const docMap = Int32Array.of(3, 0, -1, 2, 1)

  it('are refused by gatherBlock, and gathered in steps with the same bytes', () => {
    const steps: boolean[] = []

    const long = bytesOf((gathered) => {
      steps.push(gathered.gatherBlock(source, 0, { docMap, hasPositions: true }))
      runAtOnce(gathered.gather(source, docMap, true))
    }, 4)
    const short = bytesOf((gathered) => {
      for (const only of docMap.keys()) {
        const alone = docMap.map((doc, i) => (i === only ? doc : -1))
        runAtOnce(gathered.gatherLongBlock(source, 0, alone))
      }
    }, 4)

    expect(steps).to.deep.equal([false])
    expect(long.length).to.be.above(140_000)
    expect(Buffer.compare(long, short)).to.equal(0)
  })

  it('are gathered like those of a short block', () => {
    const few = sourceOf([7, 5, 6, 1, 300])

    const inSteps = bytesOf((gathered) => runAtOnce(gathered.gatherLongBlock(few, 0, docMap)), 4)
    const atOnce = bytesOf((gathered) => {
      expect(gathered.gatherBlock(few, 0, { docMap, hasPositions: true })).to.equal(true)
    }, 4)

    expect(Buffer.compare(inSteps, atOnce)).to.equal(0)
  })
})
