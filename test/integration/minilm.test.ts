// The weights of all-MiniLM-L6-v2 against sentence-transformers, by the inference server and through an index. They
// have 90 MB and are not part of the product: `quarry models pull sentence-transformers/all-MiniLM-L6-v2` gets them.
// QUARRY_TEST_MINILM names the model's directory; without it there is nothing to check, and a line says so.

import { mkdir, mkdtemp, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { parseNodeConfig } from '../../node/config.ts'
import { startNode } from '../../node/main.ts'
import { send } from '../contract/api-harness.ts'
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

    it('gives an index the same vectors, by which each text finds itself first', async () => {
      const known = await readKnownVectors('all-MiniLM-L6-v2')
      // White space alone is nothing to embed for an index.
      const answers = known.filter(({ text }) => text.trim() !== '')
      const dataDir = await mkdtemp(path.join(tmpdir(), 'quarry-minilm-'))
      const hosts = { providerHosts: '127.0.0.1' }
      const flags = { ...hosts, dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }
      const node = await startNode(parseNodeConfig({}, flags))
      const post = async (at: string, body: object) =>
        JSON.parse(
          (
            await send(node.apiUrl, {
              method: 'POST',
              path: `/api/v1/tables/t${at}`,
              body: JSON.stringify(body),
            })
          ).body,
        )
      const embedder = { provider: 'quarry', model: 'minilm', url: server.url }
      const v = { type: 'embeddings', field: 'text', distance_metric: 'cosine', embedder }

      try {
        const { indexes } = await post('', { indexes: { v } })
        const inserts = Object.fromEntries(answers.map(({ text }, at) => [`k${at}`, { text }]))
        await post('/batch', { inserts, sync_level: 'full_index' })

        expect(indexes.v.dimension).to.equal(384)
        for (const [at, answer] of answers.entries()) {
          const query = { semantic_search: answer.text, indexes: ['v'], fields: ['_embeddings'] }
          const { responses } = await post('/query', { ...query, limit: 1 })
          const [{ _id: id, _index_scores: scores, _source: source }] = responses[0].hits.hits
          expect([id, Math.abs(scores.v) < 1e-5], answer.text).to.deep.equal([`k${at}`, true])
          expectKnown(source['_embeddings'].v, answer)
        }
      } finally {
        await node.close()
        await rm(dataDir, { recursive: true, force: true })
      }
    })
  })
}
