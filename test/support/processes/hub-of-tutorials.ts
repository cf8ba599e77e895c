// A hub in a process of its own, with the model that a tutorial pulls: its files are small and made here. It prints its
// address, and serves until it is ended.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { filesBelow } from '../../../inference/models/hub/folders.ts'
import { HubServer } from '../fakes/hub-server.ts'
import { writeTinyEmbedder } from '../inference/model-directories.ts'

const MODEL = 'Xenova/all-MiniLM-L6-v2'

const hub = await HubServer.open()
const folder = await mkdtemp(path.join(tmpdir(), 'quarry-hub-'))
await writeTinyEmbedder(folder, { file: 'onnx/model_quantized.onnx' })
const files = await Promise.all(
  (await filesBelow(folder)).map(async (file) => {
    return [file, await readFile(path.join(folder, file))] as const
  }),
)
await rm(folder, { recursive: true })
hub.add(MODEL, Object.fromEntries(files))
process.stdout.write(`${hub.endpoint}\n`)
