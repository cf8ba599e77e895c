import { expect } from 'chai'
import type { RewriterSpec } from '../../../../../inference/models/model-spec.ts'
import { searchBeams } from '../../../../../inference/pipelines/rewrite/beam-search.ts'
import type { BeamModel } from '../../../../../inference/pipelines/rewrite/beam-search.ts'
import { costOfRewriteItem } from '../../../../../inference/pipelines/rewrite/rewrite-item.ts'
import { openRewriteRunner } from '../../../../../inference/pipelines/rewrite/rewrite-runner.ts'
import { Seq2SeqWriter } from '../../../../../inference/pipelines/rewrite/seq2seq-model.ts'
import { describeModelRunner } from '../../../../conformance/model-runner.ts'
import { ScriptedGraph, floats, slot } from '../../../../support/fakes/scripted-graph.ts'
import { TINY_VOCABULARY } from '../../../../support/inference/model-directories.ts'
import {
  encoderGraph,
  mergedDecoderGraph,
  seq2seqDecoderGraph,
} from '../../../../support/inference/model-graphs.ts'
import {
  SPEC_BASE,
  resultsOf,
  runSignal,
  withRunnerParts,
} from '../../../../support/inference/runner-parts.ts'
import type { PartsOptions } from '../../../../support/inference/runner-parts.ts'

interface Setting {
  readonly eosIds?: readonly number[]
  readonly maxLength?: number
  readonly beamCount?: number
  readonly returnCount?: number
  readonly isMerged?: boolean
  /** Fixes the number of tokens that the encoder takes. */
  readonly encoderLength?: number
}

const FILES = {
  'decoder-init.onnx': seq2seqDecoderGraph('first'),
  'decoder.onnx': seq2seqDecoderGraph('later'),
  'decoder_model_merged.onnx': mergedDecoderGraph(),
}

function specOf(setting: Setting): RewriterSpec {
  const { eosIds = [], maxLength = 4, beamCount = 1, returnCount = 1, isMerged = false } = setting
  return {
    ...SPEC_BASE,
    kind: 'rewriter',
    maxLength,
    beamCount,
    returnCount,
    seq2seq: {
      encoderFile: 'encoder.onnx',
      decoder: isMerged
        ? { type: 'merged', file: 'decoder_model_merged.onnx' }
        : { type: 'pair', firstFile: 'decoder-init.onnx', laterFile: 'decoder.onnx' },
      startId: 0,
      eosIds,
      headCount: 1,
      headSize: 1,
      layerCount: 1,
    },
  }
}

function partsOf(setting: Setting): PartsOptions<RewriterSpec> {
  const files = { ...FILES, 'encoder.onnx': encoderGraph(setting.encoderLength) }
  return { spec: specOf(setting), files }
}

async function rewrite(setting: Setting, text: string): Promise<(readonly string[])[]> {
  let results: (readonly string[])[] = []
  await withRunnerParts(partsOf(setting), async (parts) => {
    const runner = await openRewriteRunner(parts)
    results = resultsOf(await runner.run([{ text }], runSignal())).map((result) => result.texts)
    await runner.dispose()
  })
  return results
}

/** As the tiny tokenizer decodes, without special tokens. */
function textOf(ids: readonly number[]): string {
  return ids
    .filter((id) => id > 3)
    .map((id) => TINY_VOCABULARY[id]!)
    .map((token, index) => (index === 0 || token.startsWith('##') ? token : ` ${token}`))
    .map((token, index) => (index === 0 ? token : token.replace('##', '')))
    .join('')
    .replaceAll(' .', '.')
}

describe('rewrite runner', () => {
  for (const isMerged of [false, true]) {
    const name = isMerged ? 'one decoder for all steps' : 'a decoder for each kind of step'

    describeModelRunner(`rewrite runner by ${name}`, {
      parts: partsOf({ isMerged, beamCount: 2, returnCount: 2, eosIds: [0] }),
      open: openRewriteRunner,
      served: ['hello', '', 'hello world bar', 'paris', 'foo '.repeat(600)].map((text) => ({
        text,
      })),
      refused: [],
    })

    // "hello" is 2 4 3, whose continuation is 9 6 0 0; without the encoder's cache it would be 9 9,
    // without the decoder's 9 6 3.
    it(`writes by ${name}`, async () => {
      expect(await rewrite({ isMerged }, 'hello')).to.deep.equal([[textOf([9, 6, 0, 0])]])
      expect(await rewrite({ isMerged, eosIds: [0] }, 'hello')).to.deep.equal([[textOf([9, 6])]])
    })

    it(`writes the same with several beams by ${name}`, async () => {
      const [texts] = await rewrite({ isMerged, beamCount: 3, eosIds: [0] }, 'hello')

      expect(texts).to.deep.equal([textOf([9, 6])])
    })
  }

  it('writes the same by an encoder of a fixed length, to which it cuts the text', async () => {
    const encoderLength = 6

    expect(await rewrite({ encoderLength }, 'hello')).to.deep.equal(await rewrite({}, 'hello'))
    expect(await rewrite({ encoderLength }, 'hello world foo bar paris corp')).to.deep.equal(
      await rewrite({}, 'hello world foo bar'),
    )
  })

  it('ends at the maximum length', async () => {
    expect(await rewrite({ maxLength: 1 }, 'hello')).to.deep.equal([['.']])
  })

  it('answers as many texts as the model is set to, the best first', async () => {
    const [texts] = await rewrite({ beamCount: 2, returnCount: 3, eosIds: [0] }, 'hello')

    expect(texts).to.have.length(3)
    expect(texts![0]).to.equal(textOf([9, 6]))
  })

  it('estimates the cost from the length', () => {
    expect(costOfRewriteItem({ text: 'a'.repeat(400) })).to.equal(101)
  })
})

/** Chances of the next token by the last one; the first is drawn from the row `start`. */
function markovModel(rows: Record<string, readonly number[]>): BeamModel<null> {
  const logitsOf = (row: string): Float32Array =>
    Float32Array.from(rows[row]!, (chance) => Math.log(chance))
  return {
    start: () => Promise.resolve({ state: null, logits: [logitsOf('start')] }),
    step: (state, _parents, tokens) =>
      Promise.resolve({ state, logits: tokens.map((token) => logitsOf(String(token))) }),
  }
}

describe('beam search', () => {
  // Tokens 0 a, 1 b, 2 x, 3 y, 4 z.
  const model = markovModel({
    start: [0.6, 0.4, 0, 0, 0],
    0: [0, 0, 0.5, 0.5, 0],
    1: [0, 0, 0.05, 0, 0.95],
  })
  const settings = { tokensMax: 2, eosIds: [] }

  it('with one beam takes the likeliest token at each step, and the lower of equals', async () => {
    const [best] = await searchBeams(model, { ...settings, beamCount: 1 }, runSignal())

    expect(best!.ids).to.deep.equal([0, 2])
    expect(Math.exp(best!.score * 2)).to.be.closeTo(0.3, 1e-6)
  })

  it('finds a better text than greedy search, then the tied one with the lower id', async () => {
    const found = await searchBeams(model, { ...settings, beamCount: 2 }, runSignal())

    expect(found.map(({ ids }) => ids)).to.deep.equal([
      [1, 4],
      [0, 2],
    ])
    expect(Math.exp(found[0]!.score * 2)).to.be.closeTo(0.38, 1e-6)
  })

  it('keeps running beams while they may beat the finished ones', async () => {
    // 0 ends a text; the likeliest first token is the end, but a row of 2 is better by token.
    const late = markovModel({ start: [0.5, 0.1, 0.4], 1: [0.9, 0.1, 0], 2: [0.3, 0, 0.7] })
    const found = await searchBeams(late, { beamCount: 2, tokensMax: 8, eosIds: [0] }, runSignal())

    expect(found[0]!.ids).to.deep.equal(Array.from({ length: 8 }, () => 2))
    for (const [index, { score }] of found.entries()) {
      expect(score).to.be.at.most(found[index - 1]?.score ?? 0)
    }
  })

  it('continues with as many beams as before when one ends', async () => {
    // 0 ends a text. Of three first tokens two are kept beside the end, and the second is the better.
    const forked = markovModel({
      start: [0.4, 0.35, 0.25],
      1: [0.1, 0.45, 0.45],
      2: [0.98, 0.01, 0.01],
    })
    const [best] = await searchBeams(
      forked,
      { beamCount: 2, tokensMax: 8, eosIds: [0] },
      runSignal(),
    )

    expect(best!.ids).to.deep.equal([2])
    expect(best!.score).to.be.closeTo(Math.log(0.25 * 0.98) / 2, 1e-6)
  })

  it('equals the exhaustive search when there are enough beams', async () => {
    const chances = [
      [0.1, 0.5, 0.4],
      [0.3, 0.3, 0.4],
      [0.25, 0.25, 0.5],
    ]
    const small = markovModel({
      start: chances[0]!,
      0: chances[0]!,
      1: chances[1]!,
      2: chances[2]!,
    })
    const all = [0, 1, 2].flatMap((a) =>
      [0, 1, 2].flatMap((b) =>
        [0, 1, 2].map((c) => ({
          ids: [a, b, c],
          chance: chances[0]![a]! * chances[a]![b]! * chances[b]![c]!,
        })),
      ),
    )
    const expected = all.toSorted((left, right) => right.chance - left.chance)[0]!

    const [best] = await searchBeams(small, { beamCount: 9, tokensMax: 3, eosIds: [] }, runSignal())

    expect(Math.exp(best!.score * 3)).to.be.closeTo(expected.chance, 1e-6)
  })
})

describe('seq2seq writer', () => {
  const past = 'past_key_values.0.decoder.key'
  const fixed = 'past_key_values.0.encoder.key'

  it('gives every beam the caches of the beam that it continues', async () => {
    const ids = slot('input_ids', 'int64')
    const encoder = new ScriptedGraph(
      { inputs: [ids], outputs: [slot('last_hidden_state', 'float32')] },
      () => ({ last_hidden_state: floats([1, 2, 1], [1, 2]) }),
    )
    const outputs = ['logits', 'present.0.decoder.key', 'present.0.encoder.key']
    const first = new ScriptedGraph(
      { inputs: [ids], outputs: outputs.map((name) => slot(name, 'float32')) },
      () => ({
        logits: floats([1, 1, 2], [1, 0]),
        'present.0.decoder.key': floats([1, 1, 1, 1], [5]),
        'present.0.encoder.key': floats([1, 1, 1, 1], [7]),
      }),
    )
    const later = new ScriptedGraph(
      {
        inputs: [
          ids,
          slot('encoder_hidden_states', 'float32'),
          slot(past, 'float32'),
          slot(fixed, 'float32'),
        ],
        outputs: outputs.slice(0, 2).map((name) => slot(name, 'float32')),
      },
      (feeds) => {
        const rows = feeds['input_ids']!.dims[0]!
        const keys = Array.from(feeds['input_ids']!.data, Number)
        return {
          logits: floats(
            [rows, 1, 2],
            Array.from({ length: 2 * rows }, () => 0),
          ),
          'present.0.decoder.key': floats([rows, 1, 1, 1], keys),
        }
      },
    )
    await withRunnerParts<RewriterSpec>(
      { spec: specOf({}), files: {} },
      async ({ spec, tokenizer }) => {
        const sessions = { encoder, first, later }
        const encoding = tokenizer.encode('hello')
        const writer = await Seq2SeqWriter.read(sessions, spec.seq2seq, { encoding, tokenizer })
        const { state } = await writer.start()
        const two = await writer.step(state, [0, 0], [11, 12])
        await writer.step(two.state, [1, 1, 0], [1, 2, 3])
      },
    )

    const [second, third] = later.feeds
    expect([...second![past]!.data]).to.deep.equal([5, 5])
    expect([...second![fixed]!.data]).to.deep.equal([7, 7])
    expect([...third![past]!.data]).to.deep.equal([12, 12, 11])
    expect([...third![fixed]!.data]).to.deep.equal([7, 7, 7])
    expect([...third!['encoder_hidden_states']!.data]).to.deep.equal([1, 2, 1, 2, 1, 2])
  })
  for (const [paddingSide, mask] of [
    ['right', [1, 1, 1, 0, 0]],
    ['left', [0, 0, 1, 1, 1]],
  ] as const) {
    it(`tells the decoder which tokens of a fixed length are padding on the ${paddingSide}`, async () => {
      const encoder = new ScriptedGraph(
        {
          inputs: [slot('input_ids', 'int64', [1, 5]), slot('attention_mask', 'int64', [1, 5])],
          outputs: [slot('last_hidden_state', 'float32')],
        },
        () => ({ last_hidden_state: floats([1, 5, 1], [1, 2, 3, 4, 5]) }),
      )
      const first = new ScriptedGraph(
        {
          inputs: [slot('input_ids', 'int64'), slot('encoder_attention_mask', 'int64')],
          outputs: [slot('logits', 'float32')],
        },
        () => ({ logits: floats([1, 1, 2], [1, 0]) }),
      )
      const tokenizerConfig = { pad_token: '[PAD]', padding_side: paddingSide }
      await withRunnerParts<RewriterSpec>(
        { spec: specOf({}), files: {}, tokenizerConfig },
        async ({ spec, tokenizer }) => {
          const sessions = { encoder, first, later: first }
          const encoding = tokenizer.encode('hello')
          const writer = await Seq2SeqWriter.read(sessions, spec.seq2seq, { encoding, tokenizer })
          await writer.start()
        },
      )

      const masks = [encoder.feeds[0]!['attention_mask'], first.feeds[0]!['encoder_attention_mask']]
      for (const tensor of masks) {
        expect(tensor!.dims).to.deep.equal([1, 5])
        expect(Array.from(tensor!.data, Number)).to.deep.equal(mask)
      }
    })
  }
})
