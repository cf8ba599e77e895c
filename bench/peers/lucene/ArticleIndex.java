import java.io.Closeable;
import java.io.IOException;
import java.util.List;

/** What the peer needs of either version of Lucene. All methods may be called by several threads. */
interface ArticleIndex extends Closeable {
  record Article(String key, String title, String body, String category, double price, long createdMs) {}

  /** The scores are those of this version of Lucene. */
  record Hit(String key, double score) {}

  void add(Article article) throws IOException;

  /** Deletes all articles. */
  void clear() throws IOException;

  /** Makes what was added searchable and durable. Merges may go on in the background. */
  void refresh() throws IOException;

  /** Waits for the merges that are under way, and makes their results searchable. */
  void settle() throws IOException;

  /** `kind` is and, or, phrase; the words are in the body. The best come first. */
  List<Hit> search(String kind, List<String> words, int limit) throws IOException;

  /** The segments that searches read. */
  int segmentCount();
}
