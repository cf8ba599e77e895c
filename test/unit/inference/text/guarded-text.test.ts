import { expect } from 'chai'
import { TextGuard } from '../../../../inference/text/guarded-text.ts'
import { openTokenizer } from '../../../../inference/text/tokenizer-handle.ts'
import {
  TINY_TOKENIZER_CONFIG,
  tinyTokenizer,
} from '../../../support/inference/model-directories.ts'
import { byteLevelTokenizer } from '../../../support/inference/tokenizer-files.ts'

const tokenizer = openTokenizer({
  tokenizerJson: JSON.stringify(tinyTokenizer()),
  tokenizerConfig: JSON.stringify(TINY_TOKENIZER_CONFIG),
})
const guard = new TextGuard(tokenizer.specialTexts)

/** As a template writes a user's text between its own special tokens. */
function idsOf(content: string): readonly number[] {
  const { text, unmatchedAt } = guard.unmark(`[CLS] ${guard.mark(content)} [SEP]`)
  return tokenizer.content(text, unmatchedAt)
}

describe("a user's text within a prompt", () => {
  const [cls, sep] = ['[CLS]', '[SEP]'].map((token) => tokenizer.idOf(token))

  it('is not a control token, even if it is spelled like one', () => {
    const ids = idsOf('hello [SEP][SEP] [CLS]world')

    expect(ids.filter((id) => id === sep)).to.have.length(1)
    expect(ids.filter((id) => id === cls)).to.have.length(1)
    expect([ids[0], ids.at(-1)]).to.deep.equal([cls, sep])
  })

  it('has the ids of plain text where it spells no control token', () => {
    expect(idsOf('hello world')).to.deep.equal(tokenizer.content('[CLS] hello world [SEP]'))
  })

  it('is unchanged after marking and unmarking', () => {
    const written = 'a [SEP] b \uffff[[SEP]] c'

    expect(guard.unmark(guard.mark(written)).text).to.equal(written.replace('\uffff', ''))
    expect(new TextGuard([]).unmark(new TextGuard([]).mark('a b')).text).to.equal('a b')
  })
})

describe('the bytes of a token', () => {
  it('are reported for a part of a character', () => {
    const bytes = openTokenizer({
      tokenizerJson: JSON.stringify(byteLevelTokenizer()),
      tokenizerConfig: undefined,
    })
    const ids = bytes.content('é')

    expect(ids.flatMap((id) => bytes.bytesOf(id) ?? [])).to.deep.equal([...Buffer.from('é')])
    expect(ids.length).to.be.greaterThan(1)
  })

  it('are those of the text for other tokens', () => {
    expect(tokenizer.bytesOf(tokenizer.idOf('hello') ?? 0)).to.equal(undefined)
  })
})
