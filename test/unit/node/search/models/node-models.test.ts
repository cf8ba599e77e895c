import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { buildNodeModels } from '../../../../../node/search/models/node-models.ts'
import { TemplateCache } from '../../../../../node/template/template-cache.ts'
import { errorOf } from '../../../../support/error-of.ts'

const clock = new ManualClock()
const models = buildNodeModels({ clock, templates: new TemplateCache({ clock }) })
const signal = new AbortController().signal
const json = Buffer.from('{"title":"Sea","tags":["a","b"],"image":"http://x/y.png"}')

const rendered = async (template: string | undefined): Promise<string | undefined> =>
  models.renderDocument?.({ key: 'book/1', json, template }, signal)

describe('the models of a node', () => {
  it('render documents in the compact notation, or by a template', async () => {
    expect(await rendered(undefined)).to.equal('title: Sea\ntags[#2]: a,b\nimage: "http://x/y.png"')
    expect(await rendered('{{_id}}: {{fields.title}}')).to.equal('book/1: Sea')
  })

  it('refuse templates that do not compile, and media', async () => {
    expect(await errorOf(() => rendered('{{#if}'))).to.have.property('code', 'INVALID_ARGUMENT')
    expect(String(await errorOf(() => rendered('{{media url=fields.image}}')))).to.include(
      'reranker: reads texts; leave media out of the template',
    )
  })
})
