// Lucene behind an HTTP door of its own, with the requests of our API: batches of documents, and queries for the
// best hits. It prints its address when it listens.
//
//   java -cp ... LucenePeer <directory> <threads>

import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;

public final class LucenePeer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private final ArticleIndex index;

  private LucenePeer(ArticleIndex index) {
    this.index = index;
  }

  public static void main(String[] args) throws IOException {
    // Without it, each answer on a kept connection waits 40 ms for the client's acknowledgement.
    System.setProperty("sun.net.httpserver.nodelay", "true");
    LucenePeer peer = new LucenePeer(new LuceneIndex(Path.of(args[0])));
    HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(Executors.newFixedThreadPool(Integer.parseInt(args[1])));
    server.createContext("/", peer::answer);
    server.start();
    System.out.printf("{\"origin\":\"http://127.0.0.1:%d\"}%n", server.getAddress().getPort());
  }

  /** The last part of the path names the operation. Everything else is the trivial request. */
  private void answer(HttpExchange exchange) throws IOException {
    String path = exchange.getRequestURI().getPath();
    byte[] body = exchange.getRequestBody().readAllBytes();
    try {
      send(exchange, 200, operate(path.substring(path.lastIndexOf('/') + 1), body));
    } catch (RuntimeException | IOException error) {
      StringWriter text = new StringWriter();
      error.printStackTrace(new PrintWriter(text));
      send(exchange, 500, text.toString().getBytes(StandardCharsets.UTF_8));
    }
  }

  private byte[] operate(String operation, byte[] body) throws IOException {
    switch (operation) {
      case "batch":
        addAll(JSON.readTree(body).get("inserts"));
        return bytes("{}");
      case "query":
        return search(JSON.readTree(body));
      case "clear":
        index.clear();
        return bytes("{}");
      case "refresh":
        index.refresh();
        return bytes("{}");
      case "settle":
        index.settle();
        return bytes("{\"segments\":" + index.segmentCount() + "}");
      default:
        return bytes("{}");
    }
  }

  private void addAll(JsonNode inserts) throws IOException {
    for (Iterator<Map.Entry<String, JsonNode>> each = inserts.fields(); each.hasNext(); ) {
      Map.Entry<String, JsonNode> entry = each.next();
      JsonNode document = entry.getValue();
      index.add(
          new ArticleIndex.Article(
              entry.getKey(),
              document.get("title").asText(),
              document.get("body").asText(),
              document.get("category").asText(),
              document.get("price").asDouble(),
              Instant.parse(document.get("created").asText()).toEpochMilli()));
    }
  }

  private byte[] search(JsonNode request) throws IOException {
    JsonNode asked = request.get("full_text_search");
    JsonNode phrase = asked.get("match_phrase");
    String kind = phrase == null ? asked.get("operator").asText() : "phrase";
    String text = (phrase == null ? asked.get("match") : phrase).asText();
    List<ArticleIndex.Hit> hits = index.search(kind, List.of(text.split(" ")), request.get("limit").asInt());
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    try (JsonGenerator json = JSON.createGenerator(out)) {
      json.writeStartArray();
      for (ArticleIndex.Hit hit : hits) {
        json.writeStartObject();
        json.writeStringField("_id", hit.key());
        json.writeNumberField("_score", hit.score());
        json.writeEndObject();
      }
      json.writeEndArray();
    }
    return out.toByteArray();
  }

  private static void send(HttpExchange exchange, int status, byte[] answer) throws IOException {
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    exchange.sendResponseHeaders(status, answer.length);
    exchange.getResponseBody().write(answer);
    exchange.close();
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
