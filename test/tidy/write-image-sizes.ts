// `npm run image:sizes`: writes the table of what the images' bytes are again. It needs the packages of Debian that
// `npm run image` needs.

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { planImage } from '../../images/build-image.ts'
import { DEBS } from '../../images/config.ts'
import type { Image } from '../../images/oci/layout.ts'
import { PLATFORMS, TARGETS } from '../../images/parts/platform.ts'
import { must } from '../../lib/assert.ts'
import { sizeTable, SIZES_DOCUMENT } from './image-sizes.ts'
import { withTables } from './markdown.ts'

const root = path.resolve(import.meta.dirname, '../..')
const platform = must(PLATFORMS[0], 'a platform')
const work = await mkdtemp(path.join(tmpdir(), 'quarry-image-'))
try {
  const base = { debs: DEBS, work }
  const images: Image[] = []
  for (const target of TARGETS) {
    images.push((await planImage({ root, target, platform, commit: undefined, base })).image)
  }
  const file = path.join(root, SIZES_DOCUMENT)
  const text = await readFile(file, 'utf8')
  await writeFile(file, withTables(text, { sizes: () => sizeTable(images) }))
} finally {
  await rm(work, { recursive: true, force: true })
}
