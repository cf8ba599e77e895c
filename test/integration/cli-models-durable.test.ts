// What a pull has made durable when it says that the model is there.

import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { HubServer } from '../support/fakes/hub-server.ts'
import { CommandFolder, output } from '../support/processes/quarry-command.ts'

/** Runs in the command's process and writes down what is synced and renamed, in order. */
const WATCH = `
const { appendFileSync } = require('node:fs')
const promises = require('node:fs/promises')
const note = (what, name) => appendFileSync('calls', what + ' ' + name + '\\n')
const { open, rename } = promises
promises.open = async (name, ...others) => {
  const handle = await open(name, ...others)
  const sync = handle.sync.bind(handle)
  handle.sync = () => sync().then(() => note('sync', name))
  return handle
}
promises.rename = (from, to) => rename(from, to).then(() => note('rename', to))
require('node:module').syncBuiltinESMExports()
`

const FILES = {
  'config.json': '{"architectures":["BertModel"]}',
  'tokenizer.json': '{"model":{}}',
  'onnx/model.onnx': Buffer.alloc(1000, 'x'),
}

describe('a pulled model', () => {
  it('keeps its files and the names of its folders over a power failure', async () => {
    await using hub = await HubServer.open()
    hub.add('acme/mini', FILES)
    await using folder = await CommandFolder.open()
    const preload = path.join(folder.path, 'watch.cjs')
    await writeFile(preload, WATCH)
    const models = path.join(folder.path, 'models')

    const args = ['models', 'pull', 'acme/mini', '--endpoint', hub.endpoint]
    const [, err] = await output(folder.quarry([...args, '--models-dir', models], preload))

    const calls = (await readFile(path.join(folder.path, 'calls'), 'utf8')).split('\n')
    const renamed = calls.indexOf(`rename ${models}/embedders/acme/mini`)
    expect(renamed, err).to.be.greaterThan(0)
    const before = ['config.json', 'tokenizer.json', 'onnx/model.onnx', 'onnx', ''].map(
      (name) => `sync ${path.join(models, '.pulls/acme/mini/files', name)}`,
    )
    expect(calls.slice(0, renamed)).to.include.members(before)
    const after = ['embedders/acme', 'embedders', ''].map(
      (name) => `sync ${path.join(models, name)}`,
    )
    expect(calls.slice(renamed)).to.include.members(after)
  })
})
