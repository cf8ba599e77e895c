// Lucene 4.10 with the same fields, words and tuning as Lucene 9, and BM25, which is not its default.

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.analysis.util.CharArraySet;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleDocValuesField;
import org.apache.lucene.document.DoubleField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.SortedSetDocValuesField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherFactory;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.MMapDirectory;
import org.apache.lucene.util.BytesRef;
import org.apache.lucene.util.Version;

final class LuceneIndex implements ArticleIndex {
  private static final double BUFFER_MB = 256;
  private static final String KEY = "key";
  private static final String BODY = "body";

  private final IndexWriter writer;
  private final SearcherManager searchers;

  LuceneIndex(Path directory) throws IOException {
    BM25Similarity similarity = new BM25Similarity();
    IndexWriterConfig config =
        new IndexWriterConfig(Version.LATEST, new StandardAnalyzer(CharArraySet.EMPTY_SET));
    config.setRAMBufferSizeMB(BUFFER_MB).setSimilarity(similarity);
    writer = new IndexWriter(new MMapDirectory(directory.toFile()), config);
    SearcherFactory factory =
        new SearcherFactory() {
          @Override
          public IndexSearcher newSearcher(org.apache.lucene.index.IndexReader reader) {
            IndexSearcher searcher = new IndexSearcher(reader);
            searcher.setSimilarity(similarity);
            return searcher;
          }
        };
    searchers = new SearcherManager(writer, true, factory);
  }

  @Override
  public void add(Article article) throws IOException {
    Document document = new Document();
    document.add(new StringField(KEY, article.key(), Field.Store.YES));
    document.add(new TextField("title", article.title(), Field.Store.NO));
    document.add(new TextField(BODY, article.body(), Field.Store.NO));
    document.add(new StringField("category", article.category(), Field.Store.NO));
    document.add(new SortedSetDocValuesField("category", new BytesRef(article.category())));
    document.add(new DoubleField("price", article.price(), Field.Store.NO));
    document.add(new DoubleDocValuesField("price", article.price()));
    document.add(new LongField("created", article.createdMs(), Field.Store.NO));
    document.add(new NumericDocValuesField("created", article.createdMs()));
    writer.addDocument(document);
  }

  @Override
  public void clear() throws IOException {
    writer.deleteAll();
    refresh();
  }

  @Override
  public void refresh() throws IOException {
    writer.commit();
    searchers.maybeRefreshBlocking();
  }

  @Override
  public void settle() throws IOException {
    writer.waitForMerges();
    refresh();
  }

  @Override
  public List<Hit> search(String kind, List<String> words, int limit) throws IOException {
    IndexSearcher searcher = searchers.acquire();
    try {
      List<Hit> hits = new ArrayList<>(limit);
      for (ScoreDoc found : searcher.search(queryOf(kind, words), limit).scoreDocs) {
        hits.add(new Hit(searcher.doc(found.doc, Set.of(KEY)).get(KEY), found.score));
      }
      return hits;
    } finally {
      searchers.release(searcher);
    }
  }

  private static Query queryOf(String kind, List<String> words) {
    if (kind.equals("phrase")) {
      PhraseQuery phrase = new PhraseQuery();
      for (String word : words) phrase.add(new Term(BODY, word));
      return phrase;
    }
    BooleanQuery all = new BooleanQuery();
    Occur occur = kind.equals("and") ? Occur.MUST : Occur.SHOULD;
    for (String word : words) all.add(new TermQuery(new Term(BODY, word)), occur);
    return all;
  }

  @Override
  public int segmentCount() {
    try {
      IndexSearcher searcher = searchers.acquire();
      try {
        return searcher.getIndexReader().leaves().size();
      } finally {
        searchers.release(searcher);
      }
    } catch (IOException error) {
      throw new java.io.UncheckedIOException(error);
    }
  }

  @Override
  public void close() throws IOException {
    searchers.close();
    writer.close();
  }
}
