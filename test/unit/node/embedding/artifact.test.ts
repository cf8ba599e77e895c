import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import * as fc from 'fast-check'
import { isServiceError } from '../../../../lib/errors.ts'
import {
  decodeArtifact,
  encodeArtifact,
  hasRows,
  ordinalOfArtifact,
  type Artifact,
} from '../../../../node/embedding/artifact.ts'

const GOLDEN = new URL('../../../golden/artifacts.json', import.meta.url)
const golden: Readonly<Record<string, string>> = JSON.parse(readFileSync(GOLDEN, 'utf8'))

const sourceHash = Uint8Array.from({ length: 16 }, (_, at) => at + 1)

const ARTIFACTS: Readonly<Record<string, Artifact>> = {
  'dense, given by a client': {
    kind: 'dense',
    ordinal: 7,
    sourceHash: undefined,
    dimension: 3,
    rows: [{ start: 0, end: 0, vector: Float32Array.of(0.5, -1, 2.25) }],
  },
  'dense, two chunks with their texts': {
    kind: 'dense',
    ordinal: 0xffff_fffe,
    sourceHash,
    dimension: 1,
    rows: [
      { start: 0, end: 4, vector: Float32Array.of(1) },
      { start: 4, end: 9, vector: Float32Array.of(-0) },
    ],
    texts: { chunks: ['tide', ' töb'], summary: 'the sea' },
  },
  'dense, nothing to embed': { kind: 'dense', ordinal: 1, sourceHash, dimension: 2, rows: [] },
  sparse: {
    kind: 'sparse',
    ordinal: 2,
    sourceHash: undefined,
    rows: [
      { start: 0, end: 0, terms: Uint32Array.of(3, 4_000_000_000), weights: Float32Array.of(1, 2) },
      { start: 1, end: 2, terms: new Uint32Array(), weights: new Float32Array() },
    ],
  },
  parked: {
    kind: 'parked',
    ordinal: 9,
    sourceHash,
    attempts: 10,
    texts: { error: 'the embedder does not answer' },
  },
}

describe('artifact', () => {
  for (const [name, artifact] of Object.entries(ARTIFACTS)) {
    it(`writes and reads the bytes of today: ${name}`, () => {
      const bytes = encodeArtifact(artifact)

      expect(bytes.toString('hex')).to.equal(golden[name])
      expect(decodeArtifact(bytes)).to.deep.equal(artifact)
    })
  }

  it('has every golden artifact among its samples', () => {
    expect(Object.keys(golden)).to.have.members(Object.keys(ARTIFACTS))
  })

  it('reads vectors where they lie when they are aligned', () => {
    const bytes = encodeArtifact(must('dense, given by a client'))
    const aligned = new Uint8Array(new ArrayBuffer(bytes.length))
    aligned.set(bytes)

    const decoded = decodeArtifact(aligned)

    expect(decoded.kind === 'dense' && decoded.rows[0]?.vector.buffer).to.equal(aligned.buffer)
  })

  it('reads the same from bytes at any offset', () => {
    for (const [name, artifact] of Object.entries(ARTIFACTS)) {
      const bytes = encodeArtifact(artifact)
      for (let offset = 0; offset < 4; offset++) {
        const shifted = new Uint8Array(new ArrayBuffer(bytes.length + 4)).subarray(offset)
        shifted.set(bytes)
        const found = decodeArtifact(shifted.subarray(0, bytes.length))
        expect(found, `${name} at ${offset}`).to.deep.equal(artifact)
      }
    }
  })

  it('tells ordinal and whether there are rows without reading them', () => {
    const parked = encodeArtifact(must('parked'))
    const dense = encodeArtifact(must('dense, given by a client'))

    expect(ordinalOfArtifact(parked)).to.equal(9)
    expect(hasRows(parked)).to.equal(false)
    expect(hasRows(dense)).to.equal(true)
    expect(hasRows(encodeArtifact(must('dense, nothing to embed')))).to.equal(false)
  })

  it('refuses every truncation and every extension', () => {
    for (const [name, artifact] of Object.entries(ARTIFACTS)) {
      const bytes = encodeArtifact(artifact)
      for (let length = 0; length < bytes.length; length++) {
        expect(codeOf(bytes.subarray(0, length)), `${name}, ${length} bytes`).to.equal('CORRUPTION')
      }
      expect(codeOf(Buffer.concat([bytes, Buffer.of(0)])), name).to.equal('CORRUPTION')
    }
  })

  it('answers damaged bytes with CORRUPTION or with an artifact that has just these bytes', () => {
    const damaged = fc.record({
      name: fc.constantFrom(...Object.keys(ARTIFACTS).filter((name) => !hasTexts(name))),
      at: fc.nat({ max: 200 }),
      byte: fc.nat({ max: 255 }),
    })
    fc.assert(
      fc.property(damaged, ({ name, at, byte }) => {
        const bytes = encodeArtifact(must(name))
        bytes[at % bytes.length] = byte
        if (codeOf(bytes) === 'CORRUPTION') return
        expect(encodeArtifact(decodeArtifact(bytes)).equals(bytes)).to.equal(true)
      }),
      { numRuns: 2000 },
    )
  })

  it('answers any bytes with CORRUPTION or an artifact', () => {
    const head = fc.tuple(fc.constant(1), fc.nat({ max: 4 }), fc.nat({ max: 1 }), fc.constant(0))
    const bytes = fc
      .tuple(head, fc.uint8Array({ minLength: 36, maxLength: 120 }))
      .map(([first, rest]) => Buffer.from([...first, ...rest]))
    fc.assert(
      fc.property(fc.oneof(bytes, fc.uint8Array()), (given) => {
        expect(codeOf(given)).to.be.oneOf(['CORRUPTION', undefined])
      }),
      { numRuns: 2000 },
    )
  })

  it('refuses texts that it never writes', () => {
    const texts = ['[]', 'null', '{"chunks":"a"}', '{"chunks":[1]}', '{"summary":1}', '{"x":"a"}']
    for (const text of [...texts, '{', '\u{1}']) {
      const bytes = withTexts(Buffer.from(text))
      expect(codeOf(bytes), text).to.equal('CORRUPTION')
    }
    expect(codeOf(withTexts(Buffer.of(0x22, 0xff, 0x22))), 'not UTF-8').to.equal('CORRUPTION')
    expect(codeOf(withTexts(Buffer.from('{}')))).to.equal(undefined)
  })

  it('takes no row of another dimension', () => {
    const vector = Float32Array.of(1, 2)
    const rows = [{ start: 0, end: 0, vector }]
    const wrong = { kind: 'dense', ordinal: 0, sourceHash: undefined, dimension: 3, rows } as const

    expect(() => encodeArtifact(wrong)).to.throw('dimension')
  })
})

function must(name: string): Artifact {
  const artifact = ARTIFACTS[name]
  if (artifact === undefined) throw new Error(`there is no sample "${name}"`)
  return artifact
}

function hasTexts(name: string): boolean {
  return must(name).texts !== undefined
}

function withTexts(texts: Buffer): Buffer {
  const bytes = encodeArtifact(must('dense, nothing to embed'))
  bytes.writeUInt16LE(1, 2)
  bytes.writeUInt32LE(texts.length, 36)
  return Buffer.concat([bytes, texts])
}

function codeOf(bytes: Uint8Array): string | undefined {
  try {
    decodeArtifact(bytes)
    return undefined
  } catch (error) {
    if (isServiceError(error)) return error.code
    throw error
  }
}
