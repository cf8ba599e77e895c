// Images of many pixels, in the real process that decodes them.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { env, pid, platform } from 'node:process'
import { expect } from 'chai'
import sharp from 'sharp'
import type { Sharp } from 'sharp'
import { systemClock } from '../../../../lib/clock.ts'
import { sniffImageType } from '../../../../lib/media/image-type.ts'
import type { DocumentReading } from '../../../../node/media/document-protocol.ts'
import { DocumentReader } from '../../../../node/media/document-reader.ts'
import { fitImage } from '../../../../node/media/fit-image.ts'
import { MEDIA_SETTINGS_DEFAULT } from '../../../../node/media/media-settings.ts'
import { pngBomb } from '../../../support/worlds/media-files.ts'

const MIB = 1024 * 1024
const KIB = 1024
const { imageEdgePixelsMax, imageUnpackedBytesMax, imageMemoryBytesMax } = MEDIA_SETTINGS_DEFAULT
const LIMITS = { imageEdgePixelsMax, imageUnpackedBytesMax, imageMemoryBytesMax }
const never = new AbortController().signal

/** How an image can be stored. What is not streamed names the form that is. */
const FORMS: Readonly<Record<string, { save: (image: Sharp) => Sharp; wayOut?: string }>> = {
  'a PNG': { save: (image) => image.png({ compressionLevel: 1 }) },
  'an interlaced PNG': {
    save: (image) => image.png({ compressionLevel: 1, progressive: true }),
    wayOut: 'send it smaller, or without interlacing',
  },
  'a JPEG': { save: (image) => image.jpeg() },
  'a JPEG to be turned': { save: (image) => image.withMetadata({ orientation: 6 }).jpeg() },
  'a progressive JPEG': {
    save: (image) => image.jpeg({ progressive: true }),
    wayOut: 'send it smaller, or as a baseline JPEG',
  },
  'a progressive JPEG of all colours': {
    save: (image) => image.jpeg({ progressive: true, chromaSubsampling: '4:4:4' }),
    wayOut: 'send it smaller, or as a baseline JPEG',
  },
  'a WebP': { save: (image) => image.webp({ effort: 0 }) },
  'a lossless WebP': {
    save: (image) => image.webp({ effort: 0, lossless: true }),
    wayOut: 'send it smaller, or as a JPEG or PNG',
  },
  'a GIF': {
    save: (image) => image.gif({ effort: 1 }),
    wayOut: 'send it smaller, or as a JPEG or PNG',
  },
}

describe('images of many pixels', () => {
  let reader: DocumentReader

  beforeEach(() => {
    const options = { clock: systemClock, environment: env, timeoutMs: 60_000 }
    reader = new DocumentReader({ ...options, processesMax: 1 })
  })

  afterEach(() => reader.close())

  function read(bytes: Buffer, limits: Partial<typeof LIMITS> = {}): Promise<DocumentReading> {
    return reader.read(bytes, requestOf(bytes, limits), never)
  }

  it('are resized, 81 million of them, whether they are streamed or unpacked as a whole', async () => {
    const images = [
      await flat(9000, 9000).png({ compressionLevel: 1 }).toBuffer(),
      await flat(9000, 9000).png({ compressionLevel: 1, progressive: true }).toBuffer(),
    ]

    for (const bytes of images) {
      const reading = await read(bytes)

      if (reading.kind !== 'image') expect.fail(JSON.stringify(reading))
      const { width, height } = await sharp(reading.bytes).metadata()
      expect([width, height]).to.deep.equal([2048, 2048])
    }
    expect(reader.processCount).to.equal(1)
  })

  it('are refused by their header where they unpack to too many bytes', async () => {
    expect(await read(pngBomb(60_000, 60_000))).to.deep.equal({
      kind: 'refused',
      why:
        'its 60000 × 60000 pixels unpack to 10800000000 bytes, and 2147483648 is the most; ' +
        'send it smaller',
    })
  })

  it('are refused where their rows are too long to hold some of them', async () => {
    const reading = await read(pngBomb(700_000, 200))

    expect(reading)
      .to.have.property('why')
      .that.matches(
        /^its 700000 × 200 pixels take up to \d+ bytes of memory to resize, and 738197504 is the most; send it smaller$/,
      )
  })

  it('are refused, and the next is read, where the header of a bomb fits', async () => {
    const refused = await read(pngBomb(20_000, 20_000))

    expect(refused).to.have.property('why').that.includes('the image cannot be decoded')
    expect(await read(await flat(3000, 10).png().toBuffer())).to.have.property('kind', 'image')
  })

  for (const [what, { save, wayOut }] of Object.entries(FORMS)) {
    const outcome = wayOut === undefined ? 'are resized' : 'name their limit and the way out'
    it(`${outcome} where memory is short: ${what}`, async () => {
      const bytes = await save(flat(3000, 3000)).toBuffer()
      const short = { ...LIMITS, imageEdgePixelsMax: 300, imageMemoryBytesMax: 80 * MIB }

      const reading = await fitImage(bytes, requestOf(bytes, short))

      if (wayOut === undefined) return expect(reading.kind).to.equal('image')
      return expect(reading)
        .to.have.property('why')
        .that.matches(/^its 3000 × 3000 pixels take up to \d+ bytes .* 83886080 is the most; /)
        .and.includes(wayOut)
    })
  }

  // Only Linux tells the peak of a process.
  if (platform !== 'linux') return
  const { 'a PNG': png, 'a JPEG': jpeg } = FORMS
  const measured: readonly [width: number, height: number, forms: typeof FORMS][] = [
    [60_000, 300, { 'a PNG': png!, 'a JPEG': jpeg! }],
    [
      4500,
      4500,
      Object.fromEntries(Object.entries(FORMS).filter(([, { wayOut }]) => wayOut !== undefined)),
    ],
    [
      2200,
      2200,
      {
        'a WebP with transparency': {
          save: (image: Sharp) => image.ensureAlpha(0.5).webp({ effort: 0 }),
        },
        'a progressive JPEG in four inks': {
          save: (image: Sharp) => image.toColourspace('cmyk').jpeg({ progressive: true }),
        },
        'a PNG of two bytes a sample': {
          save: (image: Sharp) => image.toColourspace('rgb16').png({ compressionLevel: 1 }),
        },
      },
    ],
  ]
  for (const [width, height, forms] of measured) {
    it(`of ${width} × ${height} take no more memory than their header makes known`, async () => {
      await read(await flat(3000, 10).png().toBuffer()) // loads the decoders
      for (const [what, { save }] of Object.entries(forms)) {
        const bytes = await save(flat(width, height)).toBuffer()
        const asked = { imageMemoryBytesMax: 1 }
        const why = await fitImage(bytes, requestOf(bytes, asked))
        const told = Number(/up to (\d+) bytes/.exec('why' in why ? why.why : '')?.[1])
        const before = restartPeak()

        const reading = await read(bytes)

        expect(reading.kind, what).to.equal('image')
        expect(statusOfChild('VmHWM') - before, what).to.be.below(told)
      }
      expect(reader.processCount).to.equal(1)
    })
  }
})

function requestOf(bytes: Buffer, limits: Partial<typeof LIMITS>) {
  return { kind: 'image', type: sniffImageType(bytes)!, ...LIMITS, ...limits } as const
}

function flat(width: number, height: number): Sharp {
  const create = { width, height, channels: 3, background: 'teal' } as const
  return sharp({ create, limitInputPixels: false })
}

/** The bytes of one line of what the kernel says about the process that decodes. */
function statusOfChild(line: 'VmHWM' | 'VmRSS'): number {
  const { status } = child()
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * KIB
}

/** Forgets the peak; answers what the process has now. */
function restartPeak(): number {
  writeFileSync(`/proc/${child().pid}/clear_refs`, '5')
  return statusOfChild('VmRSS')
}

function child(): { pid: string; status: string } {
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const status = statusOf(name)
    if (status.includes(`\nPPid:\t${pid}\n`)) return { pid: name, status }
  }
  return expect.fail('no process decodes')
}

function statusOf(name: string): string {
  try {
    return readFileSync(`/proc/${name}/status`, 'utf8')
  } catch {
    return '' // it ended since
  }
}
