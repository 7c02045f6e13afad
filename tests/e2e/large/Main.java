import java.util.*;
import java.util.concurrent.*;
import java.util.function.*;
import java.util.stream.*;
import java.net.http.*;
import java.time.*;
public class Main {
  sealed interface Expr permits Num, Add, Mul {}
  record Num(int v) implements Expr {}
  record Add(Expr a, Expr b) implements Expr {}
  record Mul(Expr a, Expr b) implements Expr {}
  static int eval(Expr e) { if (e instanceof Num n) return n.v(); if (e instanceof Add a) return eval(a.a()) + eval(a.b()); if (e instanceof Mul m) return eval(m.a()) * eval(m.b()); throw new IllegalStateException(); }
  public static void main(String[] x) throws Exception {
    Map<Boolean, Map<Integer, List<String>>> g = Stream.of("a", "bb", "ccc", "dd").collect(Collectors.partitioningBy(s -> s.length() > 1, Collectors.groupingBy(String::length, TreeMap::new, Collectors.mapping(s -> s.toUpperCase(), Collectors.toList()))));
    ExecutorService p = Executors.newFixedThreadPool(4);
    List<Future<Integer>> f = IntStream.range(0, 10).mapToObj(i -> p.submit(() -> i * i)).collect(Collectors.toList());
    int s = 0; for (Future<Integer> one : f) s += one.get();
    p.shutdown();
    CompletableFuture<String> c = CompletableFuture.supplyAsync(() -> "a").thenCombine(CompletableFuture.supplyAsync(() -> "b"), (a, b) -> a + b);
    System.out.println(g + " " + s + " " + c.get() + " " + eval(new Add(new Num(1), new Mul(new Num(2), new Num(3)))) + Duration.ofSeconds(3));
  }
}
