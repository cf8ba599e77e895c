// The weights of all-MiniLM-L6-v2 against sentence-transformers. They have 90 MB and are not part of the
// product: `quarry models pull sentence-transformers/all-MiniLM-L6-v2` gets them. QUARRY_TEST_MINILM names
// the model's directory; without it there is nothing to check, and a line says so.

import { mkdir, symlink } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { expectKnown, readKnownVectors } from '../support/inference/known-vectors.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'

const directory = process.env['QUARRY_TEST_MINILM']
if (directory === undefined) {
  process.stdout.write('all-MiniLM-L6-v2 is not checked: QUARRY_TEST_MINILM names no directory\n')
} else {
  describe(`all-MiniLM-L6-v2 in ${directory}`, () => {
    let server: InferenceServer

    before(async () => {
      server = await InferenceServer.start(async (modelsDir) => {
        await mkdir(path.join(modelsDir, 'embedders'))
        await symlink(path.resolve(directory), path.join(modelsDir, 'embedders/minilm'))
      })
    })

    after(() => server[Symbol.asyncDispose]())

    it('answers what sentence-transformers answers', async () => {
      const answers = await readKnownVectors('all-MiniLM-L6-v2')
      const input = answers.map(({ text }) => text)

      const { json } = await server.post(
        '/api/embed',
        { model: 'minilm', input },
        { accept: 'application/json' },
      )

      expect(json.embeddings).to.have.length(20)
      answers.forEach((answer, row) => expectKnown(json.embeddings[row], answer))
    })
  })
}
