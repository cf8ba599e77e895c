import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { FleetModel } from '../../../../inference/fleet/fleet-model.ts'
import { scanModels } from '../../../../inference/models/model-catalog.ts'
import { WorkerEndedError } from '../../../../inference/runtime/worker-errors.ts'
import { must } from '../../../../lib/assert.ts'
import { silentLog } from '../../../../lib/log.ts'
import { writeTinyEmbedder } from '../../../support/inference/model-directories.ts'

describe('a model whose workers end', () => {
  it('is suspended at the second ended worker, and calls lost with one worker count once', async () => {
    const root = await mkdtemp(path.join(tmpdir(), 'quarry-lost-'))
    await writeTinyEmbedder(path.join(root, 'embedders/m'))
    const spec = must((await scanModels(root, silentLog)).find('embedder', 'm'), 'the model')
    await rm(root, { recursive: true })
    const model = new FleetModel(1, spec, {
      keepAliveMs: 0,
      batchLimits: { tokensMax: 1, itemsMax: 1 },
    })
    const first = new WorkerEndedError('SIGKILL')

    expect([model.loseWorker(first), model.loseWorker(first)]).to.deep.equal([false, false])
    expect(model.loseWorker(new WorkerEndedError('SIGKILL'))).to.equal(true)
    model.succeed()
    expect(model.loseWorker(new WorkerEndedError('SIGKILL'))).to.equal(false)
  })
})
