import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { seededRandom } from '../../../../../lib/random.ts'
import {
  BUILTIN_HASH_DIMENSIONS,
  hashEmbedding,
} from '../../../../../inference/pipelines/builtin/builtin-hash.ts'
import { cpuMsOf } from '../../../../support/slices/step-time.ts'

describe('builtin-hash', () => {
  it('gives unit vectors of few dimensions, in which similar texts are near', () => {
    for (const dimensions of [8, 64]) {
      const [charts, chart, soup] = ['sea charts', 'sea chart', 'leek soup'].map((text) =>
        hashEmbedding(text, dimensions),
      )
      expect(charts).to.have.length(dimensions)
      expect(dot(charts!, charts!)).to.be.closeTo(1, 1e-6)
      if (dimensions === 64) expect(dot(charts!, chart!)).to.be.above(dot(charts!, soup!) + 0.3)
    }
  })

  it('gives vectors of length 1 in 384 dimensions', () => {
    for (const text of ['a', 'Sea charts', '東京都', '🙂', '!!!', 'x '.repeat(10_000)]) {
      const vector = hashEmbedding(text)

      expect(vector.length).to.equal(BUILTIN_HASH_DIMENSIONS)
      expect(dot(vector, vector), text.slice(0, 20)).to.be.closeTo(1, 1e-6)
    }
  })

  // Worked out once by this implementation. If one of them changes, stored vectors no longer fit.
  const golden: Readonly<Record<string, string>> = {
    'Sea charts': '064d1b6dea1011535d207df840b62cd5b275cdacb4458d1d274ccbf22b2ce678',
    'sea charts sea': 'b865f14587c38482fa875adf80cb10e4b56315cb16bc03c20fbc89558e4b2a20',
    東京都: 'e838db70fa9c799f23d5fc0012955181fe0037556cf00f6e1ae2bde937c75055',
    '🙂': '0dfd87c8c6b41e0f68fb03fba03615177d9c1945b976604f9990b5069c68fcfd',
    '!!!': 'c81d6ea3e5365f5512a21938922aaf707dacd7cc312a8b32aaa98e32cf4f20cb',
    'ﬁne ÀÉ': '958f5e8f0ef001c3d08874a12ebe031c650dc0e940d25bbcfd0d8d982a25e6be',
  }
  for (const [text, digest] of Object.entries(golden)) {
    it(`gives "${text}" the vector that it always had`, () => {
      expect(digestOf(hashEmbedding(text))).to.equal(digest)
    })
  }

  // Runs are matched in parts: of 64 units, then of 4096 characters.
  const longRuns: Readonly<Record<string, { readonly text: string; readonly digest: string }>> = {
    letters: {
      text: 'ab'.repeat(5000),
      digest: '2c3576d72575394baa553acd5aa2bf5ef4335bbd298b9ca08a2d3b15b56a17de',
    },
    'marks at the ends of parts': {
      text: `${'x'.repeat(63)}e\u0301${'y'.repeat(4095)}\u0301z 😀`,
      digest: 'c922138bae76fc919e6a0e55a8e30b96e7dcc812e412d237f63be1357c645924',
    },
    'letters of two units': {
      text: '\u{20000}'.repeat(5000),
      digest: '84da205c6ebef602e0ef86d20d94139bd0e08acac3fa56e4ac59178edd0637d2',
    },
    'runs of one part': {
      text: `${'q'.repeat(64)} ${'q'.repeat(64)}!`,
      digest: 'a06b7b16de805dfc007f34a8cc87f7752d04fd88addd7584826df8dc22469278',
    },
    'nothing but dots': {
      text: `${'.'.repeat(9000)} ${'!'.repeat(64)}`,
      digest: 'a2cf681028b686c90c4a57263dd2765d38cadc55a3c6f2b332b0744b5d14eea0',
    },
  }
  for (const [what, { text, digest }] of Object.entries(longRuns)) {
    it(`gives long runs the vector that they always had: ${what}`, () => {
      expect(digestOf(hashEmbedding(text))).to.equal(digest)
    })
  }

  it('hashes one symbol as a word and as a gram, at the places that the rules say', () => {
    const vector = hashEmbedding('🙂')

    const features = [...vector].flatMap((value, at) => (value === 0 ? [] : [{ at, value }]))
    const norm = Math.sqrt(1 + 0.375 ** 2)
    expect(features).to.deep.equal([
      { at: 67, value: Math.fround(-1 / norm) },
      { at: 101, value: Math.fround(-0.375 / norm) },
    ])
  })

  it('weighs a word that comes four times twice as much as one that comes once', () => {
    const [word, once] = strongest(hashEmbedding('🙂 chart'), hashEmbedding('🙂'))
    const [, fourTimes] = strongest(hashEmbedding('🙂🙂🙂🙂 chart'), hashEmbedding('🙂'))
    const other = (text: string) => strongest(hashEmbedding(text), hashEmbedding('chart'))[1]

    const ratio = fourTimes / other('🙂🙂🙂🙂 chart') / (once / other('🙂 chart'))
    expect(word).to.equal(67)
    expect(ratio).to.be.closeTo(2, 1e-5)
  })

  it('treats spellings of the same characters as equal', () => {
    const pairs = [
      ['Café', 'cafe\u0301'],
      ['ＡＢＣ', 'abc'],
      ['STRAẞE', 'straße'],
      ['a  b\n\tc', 'a, b; c'],
      ['❤\ufe0f', '❤'],
    ] as const
    for (const [one, other] of pairs) {
      expect(hashEmbedding(one), one).to.deep.equal(hashEmbedding(other))
    }
  })

  it('ignores the order of words', () => {
    expect(cosine('north sea chart', 'chart sea north')).to.be.closeTo(1, 1e-6)
  })

  const nearer: readonly (readonly [text: string, near: string, far: string])[] = [
    ['sea charts of the north', 'a chart of the northern sea', 'lectures about jazz harmony'],
    ['running shoes', 'shoe for runners', 'the law of taxes'],
    ['harbour pilot', 'harbor pilots', 'mushroom soup'],
    ['東京都の地図', '東京の古地図', '犬と猫の写真'],
    ['приливы и отливы', 'прилив и отлив', 'квантовая механика'],
    ['ทะเลเหนือ', 'แผนที่ทะเลเหนือ', 'กาแฟร้อน'],
    ['error E1402 in pump', 'pump reports E1402', 'invoice of last month'],
  ]
  for (const [text, near, far] of nearer) {
    it(`finds "${text}" nearer to "${near}" than to "${far}"`, () => {
      expect(cosine(text, near)).to.be.greaterThan(cosine(text, far) + 0.1)
    })
  }

  it('keeps texts of unrelated words nearly orthogonal', () => {
    const random = seededRandom(7)
    const word = () =>
      Array.from({ length: 8 }, () => String.fromCharCode(97 + Math.floor(random() * 26))).join('')
    const texts = Array.from({ length: 60 }, () => Array.from({ length: 8 }, word).join(' '))

    const cosines = texts.flatMap((one, at) =>
      texts.slice(at + 1).map((other) => cosine(one, other)),
    )
    const mean = cosines.reduce((sum, value) => sum + value, 0) / cosines.length

    // Signs cancel on average, and the spread is that of 384 dimensions: 1 / sqrt(384) = 0.05.
    expect(Math.abs(mean)).to.be.lessThan(0.01)
    expect(Math.max(...cosines.map(Math.abs))).to.be.lessThan(0.3)
  })

  it('gives zeros for a text without visible characters', () => {
    expect([...hashEmbedding(' \n')].every((value) => value === 0)).to.equal(true)
  })

  it('does not treat half of a surrogate pair as a character', () => {
    expect(cosine('𠮷', '𠮟')).to.be.lessThan(0.5)
    expect(dot(hashEmbedding('\ud842'), hashEmbedding('\ud842'))).to.be.closeTo(1, 1e-6)
  })

  it('embeds 20 000 short texts in less than a second of CPU', () => {
    const text = 'The tide turns at half past four in the northern harbour'

    const cpuMs = cpuMsOf(() => {
      for (let round = 0; round < 20_000; round += 1) hashEmbedding(text)
    })

    expect(cpuMs).to.be.lessThan(1000)
  })
})

function dot(one: Float32Array, other: Float32Array): number {
  return one.reduce((sum, value, at) => sum + value * other[at]!, 0)
}

function cosine(one: string, other: string): number {
  return dot(hashEmbedding(one), hashEmbedding(other))
}

/** What `vector` has where `like` is strongest, and where that is. */
function strongest(vector: Float32Array, like: Float32Array): [at: number, value: number] {
  const at = like.reduce(
    (best, value, here) => (Math.abs(value) > Math.abs(like[best]!) ? here : best),
    0,
  )
  return [at, Math.abs(vector[at]!)]
}

function digestOf(vector: Float32Array): string {
  const bytes = new DataView(new ArrayBuffer(vector.length * 4))
  vector.forEach((value, at) => bytes.setFloat32(at * 4, value, true))
  return createHash('sha256').update(new Uint8Array(bytes.buffer)).digest('hex')
}
