use std::collections::{BTreeMap, HashMap, HashSet, BinaryHeap, VecDeque};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, mpsc};
trait Visitor { type Out: Debug; fn visit(&self, x: i64) -> Self::Out; }
macro_rules! visitors { ($($name:ident => $e:expr),*) => { $(struct $name; impl Visitor for $name { type Out = Option<(i64, String)>; fn visit(&self, x: i64) -> Self::Out { let f: fn(i64) -> i64 = $e; Some((f(x), format!("{:?}", x))) } })* } }
visitors!(A => |x| x + 1, B => |x| x * 2, C => |x| x - 3, D => |x| x ^ 5, E => |x| x | 7, F => |x| x & 9, G => |x| x << 1, H => |x| x >> 1);
fn chain<T: Clone + Debug + Ord + std::hash::Hash + Send + 'static>(v: Vec<T>) -> String {
    let set: HashSet<T> = v.iter().cloned().collect();
    let map: BTreeMap<T, usize> = v.iter().cloned().enumerate().map(|(i, x)| (x, i)).collect();
    let heap: BinaryHeap<T> = v.iter().cloned().collect();
    let mut q: VecDeque<T> = v.iter().cloned().filter(|x| set.contains(x)).rev().collect();
    let (tx, rx) = mpsc::channel();
    for chunk in v.chunks(2) { let tx = tx.clone(); let c = chunk.to_vec(); std::thread::spawn(move || tx.send(c).unwrap()); }
    drop(tx);
    q.extend(rx.iter().flatten());
    let m = Arc::new(Mutex::new(HashMap::new()));
    for x in v.iter().cloned() { *m.lock().unwrap().entry(x).or_insert(0) += 1; }
    format!("{:?} {:?} {} {:?} {:?}", map, heap.len(), set.len(), q.len(), m.lock().unwrap().len())
}
macro_rules! instances { ($($t:ty),*) => { vec![$(chain::<$t>((0..10u8).map(|x| <$t>::from(x)).collect())),*] } }
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)] struct W1(u8); impl From<u8> for W1 { fn from(x: u8) -> Self { W1(x) } }
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)] struct W2(String); impl From<u8> for W2 { fn from(x: u8) -> Self { W2(x.to_string()) } }
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)] struct W3(Vec<u8>, Option<Box<W2>>); impl From<u8> for W3 { fn from(x: u8) -> Self { W3(vec![x], Some(Box::new(W2::from(x)))) } }
fn main() {
    for line in instances!(u8, u16, u32, u64, u128, i16, i32, i64, i128, W1, W2, W3, char, usize) { println!("{line}"); }
    println!("{:?} {:?} {:?} {:?}", A.visit(1), B.visit(2), C.visit(3), D.visit(4));
    println!("{:?} {:?} {:?} {:?}", E.visit(1), F.visit(2), G.visit(3), H.visit(4));
}
