import { expect } from 'chai'
import * as fc from 'fast-check'
import {
  analyzerOf,
  queryAnalyzerOf,
} from '../../../../../../node/index/text/analysis/analyzers.ts'
import { ANALYZER_NAMES } from '../../../../../../node/schema/analyzer-names.ts'

function terms(name: string, text: string): readonly string[] {
  return analyzerOf(name)!
    .analyze(text)
    .map(({ term }) => term)
}

function queryTerms(name: string, text: string): readonly string[] {
  return queryAnalyzerOf(name)!
    .analyze(text)
    .map(({ term }) => term)
}

interface Row {
  readonly analyzer: string
  readonly text: string
  readonly expected: readonly string[]
}

// Lucene: TestStandardAnalyzer and TestUAX29URLEmailTokenizer; the letter examples of UAX #29,
// section 4, figure 1. Where Lucene differs (no colon joins here) nothing is taken from it.
const STANDARD: readonly (readonly [string, readonly string[]])[] = [
  ['', []],
  ["O'Reilly", ["o'reilly"]],
  ["you're", ["you're"]],
  ["she's", ["she's"]],
  ["Jim's", ["jim's"]],
  ["don't", ["don't"]],
  ["O'Reilly's", ["o'reilly's"]],
  [
    'The quick (“brown”) fox can’t jump 32.3 feet, right?',
    ['quick', 'brown', 'fox', "can't", 'jump', '32.3', 'feet', 'right'],
  ],
  ['some-dashed-phrase', ['some', 'dashed', 'phrase']],
  ['dogs,chase,cats', ['dogs', 'chase', 'cats']],
  ['ac/dc', ['ac', 'dc']],
  ['R2D2 C3PO', ['r2d2', 'c3po']],
  ['B2B 2B', ['b2b', '2b']],
  ['21.35', ['21.35']],
  ['1,234,567.89', ['1,234,567.89']],
  ['216.239.63.104', ['216.239.63.104']],
  ['www.nutch.org', ['www.nutch.org']],
  ['David has 5000 bones', ['david', 'has', '5000', 'bones']],
  ['C embedded developers wanted', ['c', 'embedded', 'developers', 'wanted']],
  ['foo bar FOO BAR', ['foo', 'bar', 'foo', 'bar']],
  ['first_name _x_ ___', ['first_name', '_x_']],
  ['key:value', ['key', 'value']],
  ['我是中国人', ['我', '是', '中', '国', '人']],
  ['ひらがな カタカナ', ['ひ', 'ら', 'が', 'な', 'カタカナ']],
  ['안녕하세요 한글입니다', ['안녕하세요', '한글입니다']],
  ['การที่ได้ต้องแสดงว่างานดี', ['การ', 'ที่', 'ได้', 'ต้อง', 'แสดง', 'ว่า', 'งาน', 'ดี']],
  ['الفيلم الوثائقي', ['الفيلم', 'الوثايقي']],
  ['Ελλάδα ΟΔΟΣ', ['ελλαδα', 'οδοσ']],
  ['cafe\u0301 CAFÉ cafe', ['cafe', 'cafe', 'cafe']],
  ['Éditør Straße Łódź œuvre Þór', ['editor', 'strasse', 'lodz', 'oeuvre', 'thor']],
  ['thé the Việt ñandú', ['the', 'viet', 'nandu']],
  ['ёлка йод が ά', ['елка', 'йод', 'が', 'α']],
  ['co\u00adoperate', ['cooperate']],
  ['\u{10330}\u{10331} x', ['\u{10330}\u{10331}', 'x']],
  ['\u{1d4d0}\u{1d4d1} x', ['ab', 'x']],
  ['สวัสดีชาวโลก ok 3', ['สวัสดี', 'ชาว', 'โลก', 'ok', '3']],
  ['ភាសាខ្មែរជាភាសា', ['ភាសាខ្មែរ', 'ជា', 'ភាសា']],
  ['ພາສາລາວແມ່ນ', ['ພາສາ', 'ລາວ', 'ແມ່ນ']],
  ['မြန်မာဘာသာစကား', ['မြန်မာဘာသာ', 'စကား']],
  ['ﬁnance ｆｕｌｌｗｉｄｔｈ ｶﾞｶﾅ Ⅳ １２', ['finance', 'fullwidth', 'ガカナ', 'iv', '12']],
  ['İstanbul I\u0307stanbul', ['istanbul', 'istanbul']],
  ['\u{20000}\u{20001}', ['\u{20000}', '\u{20001}']],
  ['🙂 fine', ['🙂', 'fine']],
  ['3.14. 5,', ['3.14', '5']],
  ["'quoted'", ['quoted']],
  ['tail\ud800', ['tail']],
]

// Snowball's published vocabularies (snowballstem.org/algorithms/<language>/stemmer.html and, for
// English, M. Porter, "An algorithm for suffix stripping", 1980).
const STEMMED: readonly Row[] = [
  {
    analyzer: 'english',
    text: 'caresses ponies cats feed agreed plastered motoring',
    expected: ['caress', 'poni', 'cat', 'feed', 'agre', 'plaster', 'motor'],
  },
  {
    analyzer: 'english',
    text: 'relational hopping failing filing happy sky',
    expected: ['relat', 'hop', 'fail', 'file', 'happi', 'sky'],
  },
  {
    analyzer: 'english',
    text: 'connect connection connections connected adoption conditional decisions nation question relation',
    expected: [
      'connect',
      'connect',
      'connect',
      'connect',
      'adopt',
      'condit',
      'decis',
      'nation',
      'question',
      'relat',
    ],
  },
  {
    analyzer: 'english',
    text: "the boss's house and the cats' books",
    expected: ['boss', 'hous', 'cat', 'book'],
  },
  {
    analyzer: 'german',
    text: 'aufeinander kategorischer häuser',
    expected: ['aufeinand', 'kategor', 'haus'],
  },
  {
    analyzer: 'french',
    text: "continuellement majestueusement l'avion qu'il",
    expected: ['continuel', 'majestu', 'avion'],
  },
  { analyzer: 'spanish', text: 'cheques chicos toronto', expected: ['chequ', 'chic', 'toront'] },
  {
    analyzer: 'italian',
    text: "l'abbandonata pronunciato",
    expected: ['abbandon', 'pronunc'],
  },
  { analyzer: 'portuguese', text: 'quilométricas boa', expected: ['quilométr', 'boa'] },
  { analyzer: 'dutch', text: 'lichamelijk opglimmende', expected: ['licham', 'opglimm'] },
  {
    analyzer: 'swedish',
    text: 'jaktkarlarne klostergården',
    expected: ['jaktkarl', 'klostergård'],
  },
  { analyzer: 'danish', text: 'indtil undersøgelser', expected: ['indtil', 'undersøg'] },
  { analyzer: 'norwegian', text: 'opning havnedistriktene', expected: ['opning', 'havnedistrikt'] },
  { analyzer: 'finnish', text: 'edeltäjistään taloissa', expected: ['edeltäj', 'talo'] },
  { analyzer: 'hungarian', text: 'babakocsi babáért', expected: ['babakocs', 'bab'] },
  { analyzer: 'russian', text: 'вагоном книгами', expected: ['вагон', 'книг'] },
  { analyzer: 'romanian', text: 'abruptă absențele', expected: ['abrupt', 'absenţ'] },
  { analyzer: 'turkish', text: 'kitaplar', expected: ['kitap'] },
  { analyzer: 'arabic', text: 'الكتاب', expected: ['كتاب'] },
]

/** Spellings of one word, in any of which a query finds it. */
const SPELLINGS: Readonly<Record<string, readonly string[]>> = {
  turkish: ['İSTANBUL', 'İstanbul', 'istanbul', 'I\u0307STANBUL'],
  'turkish, without a dot': ['IŞIK', 'Işık', 'ışık'],
  'turkish, with both': ['DİYARBAKIR', 'Diyarbakır', 'diyarbakır'],
  romanian: ['şcoală', 'școală', 'ȘCOALĂ', 's\u0326coala\u0306'],
  'romanian, with a stop word': ['aceştia naţiune', 'aceștia națiune', 'națiunile'],
  russian: ['Ёлка', 'елка', 'ЁЛКИ', 'ё\u0301лка'],
  'russian, with a mark of stress': ['замо\u0301к', 'замок'],
  'russian, with a stop word': ['ещё ёлки', 'еще ёлка', 'ёлка'],
  arabic: ['كِتَاب', 'كتاب', 'الكتاب'],
  'arabic, with a hamza': ['أحمد', 'احمد'],
  'arabic, with a ta marbuta': ['مدرسة', 'مدرسه'],
  german: ['Müller', 'mueller', 'MÜLLER', 'Mu\u0308ller', 'Muller'],
  'german, with an eszett': ['Straße', 'STRASSE', 'strasse', 'straße', 'Straẞe'],
  standard: ['ﬁnance', 'finance', 'ＦＩＮＡＮＣＥ'],
  'standard, in Katakana': ['ｶﾞﾗｽ', 'ガラス', 'カ\u3099ラス'],
  simple: ['ﬁnance', 'FINANCE'],
  whitespace: ['ﬁnance', 'finance', 'ｆｉｎａｎｃｅ'],
  english: ['ﬁnances', 'Finance'],
  html_german: ['M&uuml;<b>ller</b>', '<p>Mueller'],
}

// The examples of Lucene's TestGermanNormalizationFilter, before the stemmer.
const GERMAN: Readonly<Record<string, string>> = {
  Tschechische: 'tschechische',
  Schaltflächen: 'schaltflachen',
  Schaltflaechen: 'schaltflachen',
  dauer: 'dauer',
  weißbier: 'weissbier',
  neue: 'neue',
  quelle: 'quelle',
  aktuell: 'aktull',
  Goethe: 'gothe',
}

const OTHERS: readonly Row[] = [
  { analyzer: 'simple', text: "R2D2's Straße", expected: ['r', 'd', 's', 'straße'] },
  { analyzer: 'whitespace', text: ' A-1\tb\u00a0C\n', expected: ['A-1', 'b', 'C'] },
  { analyzer: 'keyword', text: 'New York', expected: ['New York'] },
  { analyzer: 'keyword', text: '', expected: [] },
  {
    analyzer: 'search_as_you_type',
    text: 'The Wizard x of oz',
    expected: ['wi', 'wiz', 'wiza', 'x', 'oz'],
  },
  { analyzer: 'search_as_you_type', text: '東京', expected: ['東', '京'] },
  {
    analyzer: 'search_as_you_type',
    text: '\u{10330}\u{10331}\u{10332}',
    expected: ['\u{10330}\u{10331}', '\u{10330}\u{10331}\u{10332}'],
  },
  { analyzer: 'html_german', text: '<p>Die H&auml;user</p>', expected: ['haus'] },
]

describe('analyzerOf', () => {
  for (const [text, expected] of STANDARD) {
    it(`standard: ${text.slice(0, 30)}`, () => {
      expect(terms('standard', text)).to.deep.equal(expected)
    })
  }

  for (const { analyzer, text, expected } of [...STEMMED, ...OTHERS]) {
    it(`${analyzer}: ${text.slice(0, 30)}`, () => {
      expect(terms(analyzer, text)).to.deep.equal(expected)
    })
  }

  for (const [what, spellings] of Object.entries(SPELLINGS)) {
    it(`${what}: knows the spellings of ${spellings[0]}`, () => {
      const [name = ''] = what.split(',')

      const [first, ...others] = spellings.map((spelling) => terms(name, spelling))

      expect(first).to.have.length(1)
      for (const other of others) expect(other).to.deep.equal(first)
    })
  }

  it('normalizes German as Lucene does', () => {
    const german = analyzerOf('german')!

    for (const [word, expected] of Object.entries(GERMAN)) {
      expect(german.normalize(word)).to.equal(expected)
    }
  })

  it('keeps whole values with their compatible characters', () => {
    expect(terms('keyword', 'ﬁ Ⅳ')).to.deep.equal(['ﬁ Ⅳ'])
  })

  it('folds every character to one that folding keeps', () => {
    for (const name of ['standard', 'turkish', 'romanian', 'whitespace', 'keyword']) {
      const analyzer = analyzerOf(name)!
      for (let code = 0; code < 0x30000; code += 1) {
        const once = analyzer.normalize(String.fromCodePoint(code))
        expect(analyzer.normalize(once), `${name}: ${code.toString(16)}`).to.equal(once)
      }
    }
  }).timeout(240_000)

  it('leaves gaps in the place of stop words', () => {
    expect(analyzerOf('standard')!.analyze('to be or not the question')).to.deep.equal([
      { term: 'question', position: 5 },
    ])
  })

  it('leaves a gap in the place of a word of more than 255 units', () => {
    const text = `${'a'.repeat(255)} ${'b'.repeat(256)} c`

    const tokens = analyzerOf('standard')!.analyze(text)

    expect(tokens.map(({ position }) => position)).to.deep.equal([0, 2])
  })

  it('gives all grams of a word its position', () => {
    expect(
      analyzerOf('search_as_you_type')!
        .analyze('wizard')
        .map((one) => one.position),
    ).to.deep.equal([0, 0, 0])
  })

  it('knows no other names', () => {
    for (const name of ['', 'Standard', 'klingon', 'html_', 'html_klingon', 'constructor']) {
      expect(analyzerOf(name)).to.equal(undefined)
      expect(queryAnalyzerOf(name)).to.equal(undefined)
    }
  })

  for (const name of ANALYZER_NAMES) {
    it(`${name} keeps the contract of an analyzer for any text`, () => {
      const analyzer = analyzerOf(name)!
      const anyText = fc.oneof(
        fc.string({ unit: 'binary', maxLength: 60 }),
        fc.string({
          unit: fc.constantFrom('a', 'B', ' ', '.', "'", '1', 'é', '東', '<', '&', 'İ', '\ud83d'),
        }),
      )
      fc.assert(
        fc.property(anyText, (text) => {
          const tokens = analyzer.analyze(text)
          const placed = analyzer.analyzeWithOffsets(text)
          expect(placed.map(({ term, position }) => ({ term, position }))).to.deep.equal(tokens)
          let last = { position: 0, start: 0 }
          for (const { term, position, start, end } of placed) {
            expect(term).to.not.equal('')
            expect(position).to.be.at.least(last.position)
            expect(start).to.be.at.least(last.start)
            expect(end).to.be.within(start + 1, text.length)
            last = { position, start }
          }
        }),
        { numRuns: 200 },
      )
    })

    it(`${name} normalises idempotently`, () => {
      const analyzer = analyzerOf(name)!
      fc.assert(
        fc.property(fc.string({ unit: 'binary' }), (text) => {
          const once = analyzer.normalize(text)
          expect(analyzer.normalize(once)).to.equal(once)
        }),
        { numRuns: 200 },
      )
    })
  }

  it('standard finds the same words of ASCII text as a simple expression', () => {
    const piece = fc.constantFrom('ab', 'Z', '1', '22', '-', ' ', '/', '(', '"', '\n')
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const text = pieces.join('')
        // Without joiners a word is a run of letters and digits; "ab" and "z" are not stop words.
        expect(terms('standard', text)).to.deep.equal(text.toLowerCase().match(/[a-z0-9]+/g) ?? [])
      }),
      { numRuns: 500 },
    )
  })
})

describe('analyzeWithOffsets', () => {
  it('points into the text', () => {
    const text = 'Über den Wolken: CAFE\u0301!'

    const tokens = analyzerOf('standard')!.analyzeWithOffsets(text)

    expect(tokens.map(({ start, end }) => text.slice(start, end))).to.deep.equal([
      'Über',
      'den',
      'Wolken',
      'CAFE\u0301',
    ])
  })

  it('points into the original text, whatever folding changes', () => {
    const text = 'ﬁne İzmir ｶﾞﾗｽ สวัสดีชาวโลก co\u00adop Ａ'

    for (const name of ['standard', 'turkish', 'german', 'search_as_you_type']) {
      const tokens = analyzerOf(name)!.analyzeWithOffsets(text)
      const words = new Set(tokens.map(({ start, end }) => text.slice(start, end)))
      expect([...words].slice(0, 7), name).to.deep.equal([
        'ﬁne',
        'İzmir',
        'ｶﾞﾗｽ',
        'สวัสดี',
        'ชาว',
        'โลก',
        'co\u00adop',
      ])
    }
  })

  it('keeps an entity at the end of a word whole', () => {
    const html = '<b>caf&eacute;</b> &amp; th&eacute;'

    const tokens = analyzerOf('html')!.analyzeWithOffsets(html)

    expect(tokens.map(({ start, end }) => html.slice(start, end))).to.deep.equal([
      'caf&eacute;',
      'th&eacute;',
    ])
  })

  it('points into the source of a page', () => {
    const html = '<p title="a>b">caf&eacute; &amp; <b>bo</b>ld</p><script>no()</script>tail'

    const tokens = analyzerOf('html')!.analyzeWithOffsets(html)

    expect(tokens.map(({ term, start }) => [term, html.slice(start, start + 3)])).to.deep.equal([
      ['cafe', 'caf'],
      ['bold', 'bo<'],
      ['tail', 'tai'],
    ])
  })
})

describe('queryAnalyzerOf', () => {
  const cases: readonly Row[] = [
    { analyzer: 'search_as_you_type', text: 'Wizards of oz x', expected: ['wiza', 'oz', 'x'] },
    { analyzer: 'html', text: 'a<b', expected: ['b'] },
    { analyzer: 'html_english', text: 'running', expected: ['run'] },
    { analyzer: 'english', text: 'running', expected: ['run'] },
    { analyzer: 'keyword', text: 'New York', expected: ['New York'] },
  ]
  for (const { analyzer, text, expected } of cases) {
    it(`${analyzer}: ${text}`, () => {
      expect(queryTerms(analyzer, text)).to.deep.equal(expected)
    })
  }

  it('finds as-you-type terms by every prefix of two characters or more', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-z]{2,12}q$/), fc.nat(), (word, cut) => {
        const typed = word.slice(0, 2 + (cut % (word.length - 1)))
        const [term] = queryTerms('search_as_you_type', typed)
        if (term !== undefined) expect(terms('search_as_you_type', word)).to.include(term)
      }),
    )
  })
})
