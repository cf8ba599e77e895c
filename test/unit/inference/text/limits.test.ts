// A text that takes too long is either refused itself, or shows that the tokenizer is bad. No model
// runs a bad tokenizer again.

import { expect } from 'chai'
import { openTokenizer } from '../../../../inference/text/tokenizer-handle.ts'
import type { TokenizerHandle } from '../../../../inference/text/tokenizer-handle.ts'
import { classifyTokens } from '../../../../inference/pipelines/token-logits.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import { ScriptedGraph } from '../../../support/fakes/scripted-graph.ts'
import { tinyTokenizer } from '../../../support/inference/model-directories.ts'

/** Much more than a short text takes on a busy machine, and much less than a long one takes on any. */
const LIMIT_MS = 400
const MINUTE_MS = 60_000
const NEVER = new AbortController().signal

function opened(fields: object = {}): TokenizerHandle {
  const tokenizerJson = JSON.stringify({ ...tinyTokenizer(), ...fields })
  return openTokenizer({ tokenizerJson, tokenizerConfig: undefined }, LIMIT_MS)
}

function codeOf(task: () => unknown): string {
  try {
    task()
    return 'none'
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
}

describe('a text that takes too long to tokenize', () => {
  it('is refused if it is a long one', () => {
    const honest = opened()
    const text = 'hello, world. '.repeat(1_600_000)

    expect(codeOf(() => honest.contentWithOffsets(text))).to.equal('INVALID_ARGUMENT')
    expect(codeOf(() => honest.count(text))).to.equal('INVALID_ARGUMENT')
    expect(codeOf(() => honest.count('hello'))).to.equal('none')
  })

  it('is refused if one of its words exceeds the stack of the tokenizer', () => {
    const model = {
      type: 'Unigram',
      unk_id: 0,
      vocab: [
        ['<unk>', 0],
        ['a', -1],
      ],
    }
    const tokenizerJson = JSON.stringify({ ...tinyTokenizer(), pre_tokenizer: null, model })
    const honest = openTokenizer({ tokenizerJson, tokenizerConfig: undefined }, MINUTE_MS)

    expect(codeOf(() => honest.count('a'.repeat(1_000)))).to.equal('none')
    expect(codeOf(() => honest.count('a'.repeat(300_000)))).to.equal('INVALID_ARGUMENT')
  })

  it('is a fault of the tokenizer if it has a usual length', () => {
    const hostile = opened({
      pre_tokenizer: { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated' },
    })

    expect(codeOf(() => hostile.count(`${'a'.repeat(60)}b`))).to.equal('DEADLINE_EXCEEDED')
  })

  it('is refused if a model would have to look at it a thousand times', async () => {
    const classifier = {
      session: new ScriptedGraph({ inputs: [], outputs: [] }, (feeds) => feeds),
      tokenizer: opened(),
      maxTokens: 6,
    }
    const ids = Array.from({ length: 5_000 }, () => 4)

    const refusal = await classifyTokens(classifier, [ids], NEVER).catch((error: unknown) => error)

    expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
    expect(String(refusal)).to.include('send it in parts')
  })
})
