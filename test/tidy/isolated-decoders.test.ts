// Native decoders and parsers of strangers' files run in a process of their own. So the files that load them are reached from
// its entry alone.

import { expect } from 'chai'
import { importedFiles, importsOf, layeredFiles } from './imports.ts'

const ENTRY = 'node/media/document-worker.ts'
const DECODERS: ReadonlySet<string> = new Set([
  'sharp',
  'pdfjs-dist',
  '@napi-rs/canvas',
  'linkedom',
  '@mozilla/readability',
])

describe('decoders of media in the store', () => {
  const files = layeredFiles().filter((file) => file.startsWith('node/'))
  const decoding = new Set(
    files.filter((file) =>
      importsOf(file).some(({ specifier, typeOnly }) => {
        const [name = ''] = /^(?:@[^/]+\/)?[^/]+/.exec(specifier) ?? []
        return !typeOnly && DECODERS.has(name)
      }),
    ),
  )

  it('are loaded by files that only the process for documents imports', () => {
    const importers = files.filter((file) =>
      importedFiles(file).some((target) => decoding.has(target)),
    )

    expect([...decoding]).to.include('node/media/fit-image.ts')
    expect(importers.filter((file) => file !== ENTRY && !decoding.has(file))).to.deep.equal([])
  })
})
