// Queries that are refused with 400, and what the refusal has to say.

const search = (query: string): string => JSON.stringify({ full_text_search: { query } })
const nested = (depth: number): string =>
  `${'{"must":'.repeat(depth)}{"match_all":{}}${'}'.repeat(depth)}`
const ANY_TERM = { term: 'a', field: 'title' }

const shapeOf = (coordinates: unknown): string =>
  JSON.stringify({
    filter_query: {
      geometry: { shape: { type: 'Polygon', coordinates }, relation: 'within' },
      field: 'title',
    },
  })

export const BAD_QUERIES: Readonly<Record<string, readonly [body: string, message: RegExp]>> = {
  'an open phrase': [
    search('title:"sea'),
    /query string, column 11: .*to close the phrase of column 7/,
  ],
  'an open bracket': [search('(a OR'), /query string, column 6: expected a term/],
  'a closing bracket too many': [search('a) b'), /column 2/],
  'an operator with nothing behind it': [search('sea AND'), /column 8: expected/],
  'two operators in a row': [search('sea AND OR map'), /column 9: expected/],
  'an expression that does not end in a query string': [search('title:/ab'), /column 7|column 10/],
  'an explosive expression in a query string': [search('title:/((a{500}){500}){500}/'), /column 7/],
  'too many edits': [search('title:sea~9'), /column 11: expected 0, 1 or 2 edits/],
  'a reversed range in a query string': [search('price:[9 TO 1]'), /"price".*reversed range/],
  'a comparison with a text': [
    search('price:>many'),
    /"price" contains numbers, but "many" is not a number/,
  ],
  'a query string that is too long': [search('a'.repeat(10_001)), /at most 10000 characters/],
  'a reversed range': [
    '{"filter_query":{"min":9,"max":1,"field":"price"}}',
    /filter_query: the lower bound of the range is above its upper bound/,
  ],
  'reversed dates': [
    '{"filter_query":{"start":"2024-02-01","end":"2024-01-01","field":"at"}}',
    /lower bound of the range is above/,
  ],
  'a bound that is no number': ['{"filter_query":{"min":NaN,"field":"price"}}', /JSON|NaN/],
  'a bound that is infinite': [
    '{"filter_query":{"min":-Infinity,"field":"price"}}',
    /JSON|Infinity/,
  ],
  'a bound beyond the doubles': [
    '{"filter_query":{"min":1e999,"field":"price"}}',
    /filter_query.min: must be a number, not one beyond the range of a double/,
  ],
  'a date that is none': [
    '{"filter_query":{"start":"yesterday-ish","field":"at"}}',
    /not a date: "yesterday-ish"; write 2024-05-01/,
  ],
  'a date of an aggregation that is none': [
    '{"aggregations":{"d":{"type":"date_range","field":"at","date_ranges":[{"name":"x","from":"soon"}]}}}',
    /aggregations.d.date_ranges\[0\].from: not a date: "soon"/,
  ],
  'a network that is none': [
    '{"filter_query":{"cidr":"10.0.0.0/99","field":"title"}}',
    /not an address range: "10.0.0.0\/99"; write a range such as 10.0.0.0\/8/,
  ],
  'an expression that does not end': [
    '{"filter_query":{"regexp":"(a","field":"title"}}',
    /filter_query.regexp: pattern has a group without its "\)"/,
  ],
  'an expression with a look behind': [
    '{"filter_query":{"regexp":"(?<=a)b","field":"title"}}',
    /filter_query.regexp: /,
  ],
  'an expression that explodes': [
    '{"filter_query":{"regexp":"((a{500}){500}){500}","field":"title"}}',
    /filter_query.regexp: pattern/,
  ],
  'a wildcard that is too long': [
    JSON.stringify({ filter_query: { wildcard: 'a*'.repeat(501), field: 'title' } }),
    /filter_query.wildcard: may have at most 1000 characters/,
  ],
  'too many clauses': [
    JSON.stringify({ filter_query: { disjuncts: Array.from({ length: 2000 }, () => ANY_TERM) } }),
    /filter_query.disjuncts: may hold at most 1024/,
  ],
  'too many clauses in a query string': [search('a '.repeat(1100)), /1024 clauses/],
  'too many levels': [`{"filter_query":${nested(200)}}`, /nested deeper than 20 levels/],
  'too many levels in a query string': [
    search(`${'('.repeat(30)}a${')'.repeat(30)}`),
    /column 21: .*20/,
  ],
  'nothing that is a query': ['{"full_text_search":{}}', /not a query: it must have one of/],
  'a query string without its object': [
    '{"full_text_search":"sea"}',
    /full_text_search: must be an object, not string; a query string stands in \{"query"/,
  ],
  'a query of two kinds': [
    '{"full_text_search":{"match":"a","prefix":"b"}}',
    /full_text_search: unknown field "prefix"; allowed here are match/,
  ],
  'an unknown analyzer': [
    '{"full_text_search":{"match":"a","field":"title","analyzer":"klingon"}}',
    /full_text_search.analyzer: must be "standard" or "html"/,
  ],
  'a range over text': [
    '{"filter_query":{"min":"a","max":"b","field":"title"}}',
    /"title" is text, and a range needs whole values: search its keyword sub-field/,
  ],
  'a geo query on numbers': [
    '{"filter_query":{"location":[1,2],"distance":"1km","field":"price"}}',
    /"price" is of type number, and a geo query needs type geopoint or geoshape/,
  ],
  'a point off the globe': [
    '{"filter_query":{"location":[181,2],"distance":"1km","field":"p"}}',
    /the longitude must be from -180 to 180, not 181/,
  ],
  'a distance of nothing': [
    '{"filter_query":{"location":[1,2],"distance":"far","field":"p"}}',
    /not a distance: "far"; write a number with one of the units m, km/,
  ],
  'a reversed box': [
    '{"filter_query":{"top_left":[0,0],"bottom_right":[1,1],"field":"p"}}',
    /top_left lies south of bottom_right/,
  ],
  'a polygon of two points': [
    '{"filter_query":{"polygon_points":[[0,0],[1,1]],"field":"p"}}',
    /must hold at least three points/,
  ],
  'a ring that is open': [
    shapeOf([
      [
        [0, 0],
        [1, 0],
        [1, 1],
        [0, 1],
      ],
    ]),
    /must end with its first/,
  ],
  'too many positions': [
    shapeOf([Array.from({ length: 10_001 }, () => [0, 0])]),
    /a shape may have at most 10000 positions/,
  ],
  'a limit beyond the most': ['{"limit":10001}', /limit: must be an integer .* at most 10000/],
  'a prefix that is not base64 but plain text': [
    '{"filter_prefix":"book"}',
    /filter_prefix: must be UTF-8 in base64, as keys are; for b: write "Yjo="/,
  ],
  'a limit below 0': ['{"limit":-1}', /limit: must be an integer of at least 0/],
  'a window beyond the most': [
    '{"limit":10,"offset":9999}',
    /offset: offset and limit together may be at most 10000; use search_after/,
  ],
  'a cursor that is none': [
    '{"order_by":[{"field":"price"}],"search_after":["n1","k0"]}',
    /search_after: not a cursor: hand back the _sort of a hit/,
  ],
  'a cursor of another order': [
    '{"order_by":[{"field":"price"}],"search_after":["n1","k00000000.Ym9vay8x"]}',
    /this cursor belongs to another order_by; begin again without a cursor/,
  ],
  'two cursors': [
    '{"search_after":["n1","k00000000.YQ"],"search_before":["n1","k00000000.YQ"]}',
    /search_before: cannot stand beside search_after/,
  ],
  'an order by a text': [
    '{"order_by":[{"field":"title"}]}',
    /"title" is text and cannot be sorted by: name its keyword sub-field "title.keyword"/,
  ],
  'an aggregation of a text': [
    '{"aggregations":{"t":{"type":"terms","field":"title"}}}',
    /"title" is text and cannot be aggregated: name its keyword sub-field "title.keyword"/,
  ],
  'a sum of keywords': [
    '{"aggregations":{"t":{"type":"sum","field":"title.keyword"}}}',
    /"title.keyword" is of type keyword; sum needs numbers/,
  ],
  'an aggregation of an unknown type': [
    '{"aggregations":{"t":{"type":"median","field":"price"}}}',
    /aggregations.t.type: must be one of sum, avg/,
  ],
  'an interval of 0': [
    '{"aggregations":{"t":{"type":"histogram","field":"price","interval":0}}}',
    /aggregations.t.interval: must be above 0/,
  ],
  'a timeout beyond the most': ['{"timeout":"11m"}', /timeout: may be at most 600000ms/],
  'a timeout of another unit': ['{"timeout":"5 weeks"}', /timeout/],
  'another table than the path names': [
    '{"table":"films"}',
    /the path names books and the body another table; leave it out of the body/,
  ],
  'a vector with a number that is none': ['{"embeddings":{"v":[1,NaN]}}', /JSON|NaN/],
  'a vector with a number beyond float32': [
    '{"embeddings":{"v":[1,1e39]}}',
    /embeddings.v\[1\] must be a finite number that fits into a float32/,
  ],
  'a vector of no form': ['{"embeddings":{"v":true}}', /embeddings.v must be an array of numbers/],
  'an effort without a vector': [
    '{"search_effort":1}',
    /search_effort: needs semantic_search, embeddings or similar_to; leave it out/,
  ],
  'nothing to merge': [
    '{"full_text_search":{"query":"sea"},"merge_config":{"strategy":"rsf"}}',
    /merge_config: needs hits to merge/,
  ],
  'a reranker without a text': [
    '{"reranker":{"provider":"p","field":"title"}}',
    /reranker: needs a text to compare with/,
  ],
  'no index': ['{"indexes":[]}', /indexes: must be an array of at least one index name/],
  'two forms of a query': [
    '{"query":{"exists":{"field":"a"}},"full_text_search":{"match_all":{}}}',
    /query: cannot stand beside full_text_search; leave one of them out/,
  ],
  'a pruner of another order': [
    '{"pruner":{"min_score_ratio":0.5},"order_by":[{"field":"price"}]}',
    /pruner: .*leave order_by out/,
  ],
  'an unknown member': ['{"size":10}', /query: unknown field "size"; allowed here are table/],
  'an array': ['[]', /query: must be an object, not array/],
}

/** The text behind the question mark of a search, and the message about it. */
export const BAD_SEARCHES: Readonly<Record<string, RegExp>> = {
  'limit=10001': /limit/,
  'limit=x': /limit/,
  'offset=9999': /offset and limit/,
  'search_fields=a,,b&q=x': /fields/,
  'timeout=5': /timeout/,
}
