import { readFileSync, writeFileSync } from 'node:fs'
import { platform } from 'node:process'
import { crc32, deflateSync } from 'node:zlib'
import { expect } from 'chai'
import sharp from 'sharp'
import type { Sharp } from 'sharp'
import { isServiceError } from '../../../../lib/errors.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { ImagePreprocessor } from '../../../../inference/media/image-preprocessor.ts'
import type { ImageTensor } from '../../../../inference/media/image-preprocessor.ts'
import { outputSize, parseImageRecipe } from '../../../../inference/media/image-recipe.ts'
import type { ImageRecipe } from '../../../../inference/media/image-recipe.ts'
import { MEDIA_LIMITS_DEFAULT } from '../../../../inference/media/media-limits.ts'
import type { MediaLimits } from '../../../../inference/media/media-limits.ts'

const MIB = 1024 * 1024

type Pixel = readonly [red: number, green: number, blue: number]
const RED: Pixel = [255, 0, 0]
const GREEN: Pixel = [0, 255, 0]
const BLUE: Pixel = [0, 0, 255]

/** The configuration of openai/clip-vit-base-patch32. */
const CLIP_CONFIG = {
  crop_size: { height: 224, width: 224 },
  do_center_crop: true,
  do_convert_rgb: true,
  do_normalize: true,
  do_rescale: true,
  do_resize: true,
  image_mean: [0.48145466, 0.4578275, 0.40821073],
  image_std: [0.26862954, 0.26130258, 0.27577711],
  resample: 3,
  rescale_factor: 0.00392156862745098,
  size: { shortest_edge: 224 },
}

describe('image recipes', () => {
  it('read the configuration of CLIP, which is the default without one', () => {
    const recipe = parseImageRecipe(CLIP_CONFIG)

    expect(recipe).to.deep.equal({
      resize: { kind: 'shortest-edge', edge: 224 },
      kernel: 'cubic',
      centreCrop: { width: 224, height: 224 },
      rescaleFactor: 1 / 255,
      mean: [0.48145466, 0.4578275, 0.40821073],
      deviation: [0.26862954, 0.26130258, 0.27577711],
    })
    expect(parseImageRecipe(undefined)).to.deep.equal(recipe)
    expect(outputSize(recipe)).to.deep.equal({ width: 224, height: 224 })
  })

  it('read the older form with plain numbers', () => {
    const recipe = parseImageRecipe({ size: 336, crop_size: 320, resample: 2 })

    expect(recipe.resize).to.deep.equal({ kind: 'shortest-edge', edge: 336 })
    expect(recipe.centreCrop).to.deep.equal({ width: 320, height: 320 })
    expect(recipe.kernel).to.equal('linear')
  })

  it('read a plain number as a square where the processor does', () => {
    const recipe = parseImageRecipe({ feature_extractor_type: 'ViTFeatureExtractor', size: 64 })

    expect(recipe.resize).to.deep.equal({ kind: 'exact', size: { width: 64, height: 64 } })
    expect(recipe.centreCrop).to.equal(undefined)
  })

  it('resize to an exact size without a crop for SigLIP', () => {
    const recipe = parseImageRecipe({
      do_rescale: false,
      do_normalize: false,
      size: { height: 384, width: 256 },
    })

    expect(recipe.resize).to.deep.equal({ kind: 'exact', size: { height: 384, width: 256 } })
    expect(recipe.centreCrop).to.equal(undefined)
    expect([recipe.rescaleFactor, recipe.mean, recipe.deviation]).to.deep.equal([
      1,
      [0, 0, 0],
      [1, 1, 1],
    ])
    expect(outputSize(recipe)).to.deep.equal({ height: 384, width: 256 })
  })

  const bad: Readonly<Record<string, object>> = {
    'size.shortest_edge': { size: { shortest_edge: 0 } },
    'size.width': { size: { height: 5 } },
    size: { size: 'big' },
    crop_size: { crop_size: [] },
    'crop_size.height': { crop_size: { width: 3, height: 1e9 } },
    resample: { resample: 4 },
    rescale_factor: { rescale_factor: 0 },
    image_mean: { image_mean: [1, 2] },
    image_std: { image_std: [1, 0, 1] },
  }
  for (const [field, config] of Object.entries(bad)) {
    it(`name an invalid ${field}`, () => {
      expect(() => parseImageRecipe(config)).to.throw(`preprocessor_config.json: ${field} must be`)
    })
  }
})

describe('image preprocessing', () => {
  const plain: ImageRecipe = {
    resize: { kind: 'none' },
    kernel: 'cubic',
    centreCrop: undefined,
    rescaleFactor: 1,
    mean: [0, 0, 0],
    deviation: [1, 1, 1],
  }

  it('writes all red values, then green, then blue, each in rows', async () => {
    const bytes = await png([
      [RED, GREEN],
      [BLUE, [1, 2, 3]],
    ])

    const tensor = await run(bytes, plain)

    expect(tensor).to.deep.equal({
      width: 2,
      height: 2,
      data: Float32Array.of(255, 0, 0, 1, 0, 255, 0, 2, 0, 0, 255, 3),
    })
  })

  it('rescales and normalises each channel by its own figures', async () => {
    const bytes = await png(filled(300, 400, () => [255, 0, 128]))

    const { data } = await run(bytes, parseImageRecipe(CLIP_CONFIG))

    const plane = 224 * 224
    expect(data.length).to.equal(3 * plane)
    // (1 - 0.48145466) / 0.26862954, (0 - 0.4578275) / 0.26130258, (128 / 255 - 0.40821073) / …
    for (const at of [0, 777, plane - 1]) {
      expect(data[at]).to.be.closeTo(1.930_336, 1e-5)
      expect(data[plane + at]).to.be.closeTo(-1.752_097, 1e-5)
      expect(data[2 * plane + at]).to.be.closeTo(0.339_949, 1e-5)
    }
  })

  it('resizes by the shortest edge and shows the middle', async () => {
    // Three squares side by side: the middle one is what the crop shows.
    const colours = [RED, GREEN, BLUE]
    const bytes = await png(filled(300, 100, (x) => colours[Math.floor(x / 100)] ?? RED))
    const recipe: ImageRecipe = {
      ...plain,
      resize: { kind: 'shortest-edge', edge: 20 },
      centreCrop: { width: 12, height: 20 },
    }

    const { width, height, data } = await run(bytes, recipe)

    expect([width, height]).to.deep.equal([12, 20])
    expect([...new Set(data.subarray(240, 480))]).to.deep.equal([255])
    expect([...new Set(data.subarray(480))]).to.deep.equal([0])
  })

  it('cuts the longer edge to whole pixels', async () => {
    const bytes = await png(filled(35, 20, () => RED))
    const recipe: ImageRecipe = { ...plain, resize: { kind: 'shortest-edge', edge: 10 } }

    const { width, height } = await run(bytes, recipe)

    expect([width, height]).to.deep.equal([17, 10])
  })

  it('fills a crop that is larger than the image with black', async () => {
    const recipe: ImageRecipe = { ...plain, centreCrop: { width: 4, height: 3 }, mean: [5, 5, 5] }

    const { data } = await run(await png([[RED, RED]]), recipe)

    expect([...data.subarray(0, 12)]).to.deep.equal(
      [-5, -5, -5, -5, -5, 250, 250, -5, -5, -5, -5, -5], // rows of 4
    )
  })

  it('resizes bicubically with antialiasing, as Pillow does', async () => {
    const random = seededRandom(3)
    const noise = filled(64, 48, () => [random() * 255, random() * 255, random() * 255])
    const pixels = noise.map((row) => row.map(([r, g, b]) => [r | 0, g | 0, b | 0] as const))
    const recipe: ImageRecipe = {
      ...plain,
      resize: { kind: 'exact', size: { width: 40, height: 30 } },
    }

    const { data } = await run(await png(pixels), recipe)

    const expected = resizeLikePillow(pixels, 40, 30)
    const differences = expected.map((value, at) => Math.abs(value - data[at]!))
    // Noise is the hardest: libvips works in bytes between its two passes, and repeats the border.
    expect(Math.max(...differences)).to.be.lessThan(8)
    expect(mean(differences)).to.be.lessThan(0.6)
    const { data: linear } = await run(await png(pixels), { ...recipe, kernel: 'linear' })
    expect(mean(expected.map((value, at) => Math.abs(value - linear[at]!)))).to.be.greaterThan(4)
  })

  it('turns an image upright by its EXIF orientation', async () => {
    const bytes = await sharp(await png([[RED, BLUE]]))
      .withMetadata({ orientation: 6 }) // to be turned by 90° clockwise
      .png()
      .toBuffer()

    const { width, height, data } = await run(bytes, plain)

    expect([width, height]).to.deep.equal([1, 2])
    expect([...data]).to.deep.equal([255, 0, 0, 0, 0, 255])
  })

  it('shows the colours that are stored under transparent parts', async () => {
    const raw = { width: 2, height: 1, channels: 4 } as const
    const bytes = await sharp(Buffer.from([200, 100, 50, 255, 255, 255, 255, 0]), { raw })
      .png()
      .toBuffer()

    expect([...(await run(bytes, plain)).data]).to.deep.equal([200, 255, 100, 255, 50, 255])
  })

  const formats: Readonly<Record<string, (image: Sharp) => Sharp>> = {
    'grey PNG': (image) => image.toColourspace('b-w').png(),
    'PNG of 16 bits': (image) => image.toColourspace('rgb16').png(),
    'PNG with a palette': (image) => image.png({ palette: true }),
    JPEG: (image) => image.jpeg(),
    'progressive JPEG': (image) => image.jpeg({ progressive: true }),
    'JPEG in CMYK': (image) => image.toColourspace('cmyk').jpeg(),
    WebP: (image) => image.webp({ lossless: true }),
    GIF: (image) => image.gif(),
  }
  for (const [name, encode] of Object.entries(formats)) {
    it(`reads a ${name}`, async () => {
      const grey = sharp(await png(filled(32, 32, () => [120, 120, 120])))
      const bytes = await encode(grey).toBuffer()

      const { data } = await run(
        bytes,
        parseImageRecipe({ do_normalize: false, do_rescale: false }),
      )

      expect(data.length).to.equal(3 * 224 * 224)
      expect(data.every((value) => Math.abs(value - 120) < 16)).to.equal(true)
    })
  }

  it('refuses an image that costs more than the limits, by its header alone', async () => {
    const bytes = await sharp({
      create: { width: 3000, height: 3000, channels: 3, background: { r: 0, g: 0, b: 0 } },
    })
      .png()
      .toBuffer()

    expect(bytes.length).to.be.lessThan(100_000)
    expect(await refusal(run(bytes, plain, { imageUnpackedBytesMax: 26_999_999 }))).to.equal(
      'INVALID_ARGUMENT image: its 3000 × 3000 pixels unpack to 27000000 bytes, and 26999999 is the most; send it smaller',
    )
    expect(await refusal(run(bytes, plain, { imageMemoryBytesMax: 60 * MIB }))).to.match(
      /^INVALID_ARGUMENT image: its 3000 × 3000 pixels take up to \d+ bytes of memory to resize, and 62914560 is the most; send it smaller$/,
    )
  })

  it('takes an image of 81 million pixels, as the store does', async () => {
    const bytes = await flat(9000, 9000).png({ compressionLevel: 1 }).toBuffer()

    expect((await run(bytes, parseImageRecipe(CLIP_CONFIG))).data).to.have.length(3 * 224 * 224)
  })

  it('refuses a bomb that unpacks to far more than the limit', async () => {
    const error = await refusal(run(pngHeader(60_000, 60_000), plain))

    expect(error).to.include('its 60000 × 60000 pixels unpack to 10800000000 bytes')
  })

  it('refuses a strip', async () => {
    const strip = await png(filled(402, 2, () => RED))

    expect(await refusal(run(strip, plain))).to.include('one edge is over 200 times the other')
  })

  // Only Linux tells the peak of a process.
  if (platform === 'linux') {
    const forms: Readonly<Record<string, (image: Sharp) => Sharp>> = {
      'a PNG': (image) => image.png({ compressionLevel: 1 }),
      'an interlaced PNG': (image) => image.png({ compressionLevel: 1, progressive: true }),
      'a PNG with transparency': (image) => image.ensureAlpha(0.5).png({ compressionLevel: 1 }),
      'a PNG of two bytes a sample': (image) =>
        image.ensureAlpha(0.5).toColourspace('rgb16').png({ compressionLevel: 1 }),
      'a JPEG': (image) => image.jpeg(),
      'a JPEG to be turned': (image) => image.withMetadata({ orientation: 6 }).jpeg(),
      'a progressive JPEG': (image) => image.jpeg({ progressive: true }),
      'a WebP': (image) => image.webp({ effort: 0 }),
      'a WebP with transparency': (image) => image.ensureAlpha(0.5).webp({ effort: 0 }),
      'a lossless WebP': (image) => image.webp({ effort: 0, lossless: true }),
      'a GIF': (image) => image.gif({ effort: 1 }),
    }
    const whole = parseImageRecipe({ do_resize: false, do_center_crop: false })
    for (const [what, save] of Object.entries(forms)) {
      it(`takes no more memory than the header makes known: ${what}`, async () => {
        const bytes = await save(flat(4500, 4500)).toBuffer()

        for (const recipe of [parseImageRecipe(CLIP_CONFIG), whole]) {
          const refused = await refusal(run(bytes, recipe, { imageMemoryBytesMax: 1 }))
          const told = Number(/up to (\d+) bytes/.exec(refused)?.[1])
          const before = restartPeak()
          await run(bytes, recipe)
          expect(statusOf('VmHWM') - before).to.be.below(told)
        }
      })
    }
  }

  const broken: Readonly<Record<string, () => Promise<Uint8Array>>> = {
    'an image that is cut off': async () => {
      const whole = await sharp(await png(filled(64, 64, (x, y) => [x, y, x ^ y])))
        .jpeg()
        .toBuffer()
      return whole.subarray(0, whole.length / 2)
    },
    'only a signature': async () => Buffer.from('89504e470d0a1a0a', 'hex'),
    noise: async () => Buffer.from('ffd8ff00112233', 'hex'),
  }
  for (const [what, bytes] of Object.entries(broken)) {
    it(`refuses ${what}`, async () => {
      expect(await refusal(run(await bytes(), plain))).to.match(
        /^INVALID_ARGUMENT image: it cannot be decoded: /,
      )
    })
  }

  it('refuses images with the reason where sharp is not installed', async () => {
    const without = new ImagePreprocessor(MEDIA_LIMITS_DEFAULT, () =>
      Promise.reject(new Error('no binary')),
    )

    expect(await refusal(without.preprocess(await png([[RED]]), plain))).to.equal(
      'UNAVAILABLE images are not served: the package sharp is not installed for this platform',
    )
  })
})

function run(
  bytes: Uint8Array,
  recipe: ImageRecipe,
  limits: Partial<MediaLimits> = {},
): Promise<ImageTensor> {
  return new ImagePreprocessor({ ...MEDIA_LIMITS_DEFAULT, ...limits }).preprocess(bytes, recipe)
}

function flat(width: number, height: number): Sharp {
  const create = { width, height, channels: 3, background: 'teal' } as const
  return sharp({ create, limitInputPixels: false })
}

/** The bytes of one line of what the kernel says about this process. */
function statusOf(line: 'VmHWM' | 'VmRSS'): number {
  const status = readFileSync('/proc/self/status', 'utf8')
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024
}

/** Forgets the peak; answers what the process has now. */
function restartPeak(): number {
  writeFileSync('/proc/self/clear_refs', '5')
  return statusOf('VmRSS')
}

function filled(
  width: number,
  height: number,
  colour: (x: number, y: number) => Pixel,
): readonly (readonly Pixel[])[] {
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (__, x) => colour(x, y)),
  )
}

function png(rows: readonly (readonly Pixel[])[]): Promise<Buffer> {
  const raw = { width: rows[0]!.length, height: rows.length, channels: 3 } as const
  return sharp(Buffer.from(rows.flat(2)), { raw })
    .png()
    .toBuffer()
}

/** A PNG that promises this many pixels and holds next to none. */
function pngHeader(width: number, height: number): Uint8Array {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header.write('0802000000', 8, 'hex')
  return Buffer.concat([
    Buffer.from('89504e470d0a1a0a', 'hex'),
    pngChunk('IHDR', header),
    pngChunk('IDAT', deflateSync(Buffer.alloc(10_000))),
    pngChunk('IEND', Buffer.alloc(0)),
  ])
}

function pngChunk(type: string, data: Buffer): Buffer {
  const chunk = Buffer.alloc(12 + data.length)
  chunk.writeUInt32BE(data.length, 0)
  chunk.write(type, 4, 'latin1')
  chunk.set(data, 8)
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 8 + data.length)), 8 + data.length)
  return chunk
}

/**
 * Pillow's resampling, from its documentation: a separable convolution with the cubic kernel of
 * a = -0.5, widened by the scale when the image shrinks. Planes of red, green and blue.
 */
function resizeLikePillow(
  rows: readonly (readonly Pixel[])[],
  width: number,
  height: number,
): number[] {
  return [0, 1, 2].flatMap((channel) => {
    const plane = rows.map((row) => row.map((pixel) => pixel[channel]!))
    const wide = plane.map((row) => resizeLine(row, width))
    const columns = Array.from({ length: width }, (_, x) =>
      resizeLine(
        wide.map((row) => row[x]!),
        height,
      ),
    )
    return Array.from({ length: height }, (_, y) =>
      columns.map((column) => Math.min(255, Math.max(0, Math.round(column[y]!)))),
    ).flat()
  })
}

function resizeLine(line: readonly number[], length: number): number[] {
  const scale = Math.max(1, line.length / length)
  return Array.from({ length }, (_, to) => {
    const centre = ((to + 0.5) * line.length) / length
    const weights = line.map((__, from) => cubic((from + 0.5 - centre) / scale))
    const total = weights.reduce((sum, weight) => sum + weight, 0)
    return line.reduce((sum, value, from) => sum + value * weights[from]!, 0) / total
  })
}

function cubic(distance: number): number {
  const x = Math.abs(distance)
  if (x < 1) return 1.5 * x ** 3 - 2.5 * x ** 2 + 1
  return x < 2 ? -0.5 * x ** 3 + 2.5 * x ** 2 - 4 * x + 2 : 0
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => 'it succeeded',
    (reason: unknown) => reason,
  )
  if (isServiceError(error)) return `${error.code} ${error.message}`
  throw error instanceof Error ? error : new Error(String(error))
}
