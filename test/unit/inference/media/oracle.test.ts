// Images beside what the processor of CLIP in the Transformers library makes of them with Pillow; its
// answers, a sample of each tensor, are in test/fixtures/images.
//
// Pillow resizes rows first and libvips columns, and both round and clip to bytes between the two
// passes. Two passes of Pillow in the other order differ from its own by as much: by one on smooth
// images, by three on the edges of squares, by 17 on noise of nothing but black and white.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { ImagePreprocessor } from '../../../../inference/media/image-preprocessor.ts'
import { parseImageRecipe } from '../../../../inference/media/image-recipe.ts'
import { MEDIA_LIMITS_DEFAULT } from '../../../../inference/media/media-limits.ts'

interface Case {
  readonly name: string
  readonly config: object
  readonly shape: readonly [channels: number, height: number, width: number]
  /** Places in the tensor with their values. */
  readonly at: readonly number[]
  readonly values: readonly number[]
  /** A file in base64. */
  readonly image: string
}

interface Tolerance {
  readonly mean: number
  readonly max: number
}

const TOLERANCE: Tolerance = { mean: 0.35, max: 2 }
const TOLERANCES: Readonly<Record<string, Tolerance>> = {
  checkers: { mean: 0.7, max: 3 },
  tiny: { mean: 0.6, max: 4 },
  'black and white': { mean: 3, max: 17 },
  'photo, nearest': { mean: 0, max: 0 },
  'smaller than the crop': { mean: 0, max: 0 },
  'partly smaller than the crop': { mean: 0, max: 0 },
  'alpha, not resized': { mean: 0, max: 0 },
  // In units of the deviation: a byte's 1 / 255 / 0.27 is 0.015.
  normalized: { mean: 0.007, max: 0.03 },
}
/**
 * Pillow mixes inks by a rule of thumb, libvips by a colour profile. Of a transparent pixel of a GIF
 * the decoder of libvips keeps no colour.
 */
const KNOWN_TO_DIFFER = new Set(['CMYK', 'GIF with transparency'])

const FILE = path.resolve(import.meta.dirname, '../../../fixtures/images/images.json')
const { images }: { images: readonly Case[] } = JSON.parse(readFileSync(FILE, 'utf8'))

describe('images beside the processor of CLIP', () => {
  const preprocessor = new ImagePreprocessor(MEDIA_LIMITS_DEFAULT)
  for (const { name, config, shape, at, values, image } of images) {
    it(`has nearly the same pixels for: ${name}`, async () => {
      const bytes = Buffer.from(image, 'base64')

      const tensor = await preprocessor.preprocess(bytes, parseImageRecipe(config))

      expect([3, tensor.height, tensor.width]).to.deep.equal(shape)
      const differences = values.map((value, index) => Math.abs(value - tensor.data[at[index]!]!))
      const mean = differences.reduce((sum, value) => sum + value, 0) / differences.length
      if (KNOWN_TO_DIFFER.has(name)) {
        expect(mean).to.be.within(5, 30)
        return
      }
      const tolerance = TOLERANCES[name] ?? TOLERANCE
      expect(mean).to.be.at.most(tolerance.mean)
      expect(Math.max(...differences)).to.be.at.most(tolerance.max)
    })
  }
})
