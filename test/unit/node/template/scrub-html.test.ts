import { expect } from 'chai'
import * as fc from 'fast-check'
import { runAtOnce } from '../../../../lib/sliced.ts'
import { scrubHtml } from '../../../../node/template/scrub-html.ts'
import { cpuMsOf, longestStepAtBestMs } from '../../../support/slices/step-time.ts'

/** A step takes about a millisecond; on a busy machine it may take twice the time of the processor. */
const STEP_MS_MAX = 9
const unmetered = { spendOnText: () => false }
const textOf = (html: string): string => runAtOnce(scrubHtml(html, unmetered))

describe('scrubHtml', () => {
  const cases: Readonly<Record<string, readonly [html: string, text: string]>> = {
    'plain text': ['a b', 'a b'],
    'markup within a line': ['a <b>bold</b><i>i</i> <a href="x>y">link</a>', 'a boldi link'],
    'block elements': [
      '<h1>T</h1><p>one</p><p>two</p>three<br>four<hr/>five',
      'T\none\ntwo\nthree\nfour\nfive',
    ],
    'lists and tables': ['<ul><li>a<li>b</ul><table><tr><td>1<td>2</tr></table>', 'a\nb\n1 2'],
    'scripts and styles': ['a<script>if (a < b) "</p>"</script>b<STYLE>p{}</STYLE >c', 'a\nb\nc'],
    'a script without end': ['a<script>b', 'a'],
    'comments and declarations': [
      '<!DOCTYPE html>a<!-- <p>x</p> -->b<![CDATA[c]]>d<?php e ?>f',
      'abcdf',
    ],
    entities: [
      '&lt;p&gt; &amp;amp; &eacute;&#233;&#xE9; &notanentity; & &copy',
      '<p> &amp; ééé &notanentity; & ©',
    ],
    'white space': [' a \n\t b <p> c </p>\n<p>\n</p> d ', 'a b\nc\nd'],
    'no tag': ['a < b > c <3 <>', 'a < b > c <3 <>'],
    'a tag without end': ['a <b', 'a'],
    attributes: ['<p title="<script>" onclick=\'x("</p>")\'>a</p>', 'a'],
    nothing: ['', ''],
  }
  for (const [what, [html, text]] of Object.entries(cases)) {
    it(`reads ${what}`, () => {
      expect(textOf(html)).to.equal(text)
    })
  }

  it('finds text and tags across the ends of its chunks', () => {
    const unit = '<p class="a">Tom &amp; <b>Jerry</b></p><script>x</script>'

    fc.assert(
      fc.property(fc.nat({ max: 200 }), (shift) => {
        const text = textOf(`${'x'.repeat(shift)}${unit.repeat(1000)}`)
        const wanted = `${'x'.repeat(shift)}\n${'Tom & Jerry\n'.repeat(1000)}`.trim()
        expect(text).to.equal(wanted)
      }),
      { numRuns: 50 },
    )
  })

  it('leaves no tag and no script of generated pages', () => {
    const piece = fc.constantFrom(
      '<p>',
      '</p>',
      '<script>',
      '</script>',
      'SECRET',
      '<b',
      '>',
      '"',
      '<!--',
      '-->',
      '&lt;',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const text = textOf(`<script>${pieces.join('').replaceAll('</script>', '')}</script>end`)
        expect(text).to.equal('end')
      }),
    )
  })

  const LENGTH = 2_000_000
  it('reads ten megabytes in short steps', () => {
    const html = '<p>a <b>b</b> &amp; c'.repeat(500_000)

    const work = () => scrubHtml(html, unmetered)

    expect(longestStepAtBestMs(work, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
  })

  const hostile: Readonly<Record<string, string>> = {
    'tags that are never closed': '<div>',
    'tags that were never opened': '</div>',
    'open tags': '<a ',
    attributes: ' a="b"',
    brackets: '<',
    ampersands: '&',
    entities: '&amp;',
    'half entities': '&am',
    'comments that do not end': '<!-- -',
    hyphens: '-',
    scripts: '<script>a</script',
    'white space': ' \n',
    declarations: '<!d',
  }
  for (const [what, unit] of Object.entries(hostile)) {
    it(`is linear, and short in its steps: ${what}`, () => {
      const html = `<p ${unit.repeat(LENGTH / unit.length)}`
      const short = html.slice(0, html.length / 10)

      const work = () => scrubHtml(html, unmetered)

      expect(longestStepAtBestMs(work, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
      const shortMs = Math.min(
        cpuMsOf(() => textOf(short)),
        cpuMsOf(() => textOf(short)),
      )
      expect(cpuMsOf(() => textOf(html))).to.be.below(40 * shortMs + 200)
    })
  }
})
