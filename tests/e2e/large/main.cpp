#include <bits/stdc++.h>
using namespace std;
// Expression templates, type lists, regex, ranges, variant visitors, parsers by templates.
template <int N> struct Fib { static constexpr long v = Fib<N-1>::v + Fib<N-2>::v; };
template <> struct Fib<0> { static constexpr long v = 0; };
template <> struct Fib<1> { static constexpr long v = 1; };
template <class... T> struct List {};
template <class L, class T> struct Push; template <class... A, class T> struct Push<List<A...>, T> { using type = List<A..., T>; };
template <int N> struct Tag {};
template <int N> struct Make { using type = typename Push<typename Make<N-1>::type, Tag<N>>::type; };
template <> struct Make<0> { using type = List<>; };
template <class L> struct Count; template <class... T> struct Count<List<T...>> { static constexpr size_t v = sizeof...(T); };
template <size_t... I> auto tup(index_sequence<I...>) { return make_tuple(map<int, vector<Tag<I>>>()...); }
int main() {
  regex r("(a|b)*c([0-9]+)"); smatch m; string s = "abac12";
  cout << regex_match(s, m, r) << Fib<80>::v << Count<Make<300>::type>::v << "\n";
  auto t = tup(make_index_sequence<60>());
  cout << tuple_size_v<decltype(t)> << "\n";
  variant<int, string, vector<int>, map<string, int>, double> v = 3;
  visit([](auto &x) { using T = decay_t<decltype(x)>; if constexpr (is_same_v<T, int>) cout << x; }, v);
  for (int x : views::iota(0, 100) | views::filter([](int i) { return i % 3; }) | views::transform([](int i) { return i * i; }) | views::take(5)) cout << x << ' ';
  unordered_map<string, function<int(int)>> f; f["a"] = [](int i) { return i; };
  thread th([] { cout << "t"; }); th.join();
  cout << chrono::system_clock::now().time_since_epoch().count() << filesystem::path("a/b").string() << "\n";
  auto fut = async(launch::async, [] { return 1; }); cout << fut.get();
}
