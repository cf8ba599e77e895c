// Lucene 9, tuned as its documentation advises: a large buffer, mapped files, documents added without a look for
// older versions of them. Words are those of the standard tokenizer in lower case; none is left out.

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.lucene.analysis.CharArraySet;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.DoubleField;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.KeywordField;
import org.apache.lucene.document.LongField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.ConcurrentMergeScheduler;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.StoredFields;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause.Occur;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.SearcherManager;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.store.MMapDirectory;

final class LuceneIndex implements ArticleIndex {
  private static final double BUFFER_MB = 256;
  private static final String KEY = "key";
  private static final String BODY = "body";

  private final ConcurrentMergeScheduler merges = new ConcurrentMergeScheduler();
  private final IndexWriter writer;
  private final SearcherManager searchers;

  LuceneIndex(Path directory) throws IOException {
    IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer(CharArraySet.EMPTY_SET));
    config.setRAMBufferSizeMB(BUFFER_MB).setMergeScheduler(merges);
    writer = new IndexWriter(new MMapDirectory(directory), config);
    searchers = new SearcherManager(writer, null);
  }

  @Override
  public void add(Article article) throws IOException {
    Document document = new Document();
    document.add(new StringField(KEY, article.key(), Field.Store.YES));
    document.add(new TextField("title", article.title(), Field.Store.NO));
    document.add(new TextField(BODY, article.body(), Field.Store.NO));
    document.add(new KeywordField("category", article.category(), Field.Store.NO));
    document.add(new DoubleField("price", article.price(), Field.Store.NO));
    document.add(new LongField("created", article.createdMs(), Field.Store.NO));
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
    merges.sync();
    refresh();
  }

  @Override
  public List<Hit> search(String kind, List<String> words, int limit) throws IOException {
    IndexSearcher searcher = searchers.acquire();
    try {
      List<Hit> hits = new ArrayList<>(limit);
      StoredFields stored = searcher.storedFields();
      for (ScoreDoc found : searcher.search(queryOf(kind, words), limit).scoreDocs) {
        hits.add(new Hit(stored.document(found.doc, Set.of(KEY)).get(KEY), found.score));
      }
      return hits;
    } finally {
      searchers.release(searcher);
    }
  }

  private static Query queryOf(String kind, List<String> words) {
    if (kind.equals("phrase")) return new PhraseQuery(BODY, words.toArray(String[]::new));
    BooleanQuery.Builder all = new BooleanQuery.Builder();
    Occur occur = kind.equals("and") ? Occur.MUST : Occur.SHOULD;
    for (String word : words) all.add(new TermQuery(new Term(BODY, word)), occur);
    return all.build();
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
