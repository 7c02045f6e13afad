// What the page knows of languages beyond GET /languages: how a program begins, and what to colour in it. A language that
// is not here has no sample and the usual colours.

const C_LIKE = "break case catch class const continue default delete do else enum false finally for goto if new null " +
  "private protected public return static struct switch this throw true try typedef union using void while";

const KNOWN = {
  bash: {
    comment: /(?<=^|\s)#.*/,
    words: "case do done echo elif else esac exit export fi for function if in local read return set shift then until while",
    sample: 'name=${1:-world}\necho "Hello, $name"\nfor n in 1 2 3; do\n  echo "$n squared is $((n * n))"\ndone\n',
  },
  c: {
    words: C_LIKE + " char double extern float include define inline int long short signed sizeof unsigned",
    sample: '#include <stdio.h>\n\nint main(void) {\n  for (int n = 1; n <= 3; ++n) {\n    printf("%d squared is %d\\n", n, n * n);\n  }\n  return 0;\n}\n',
  },
  cpp: {
    words: C_LIKE + " auto bool char constexpr double explicit float include define inline int long namespace noexcept nullptr operator override short size_t sizeof std string template typename unsigned vector virtual",
    sample: '#include <iostream>\n\nint main() {\n  for (int n : {1, 2, 3}) {\n    std::cout << n << " squared is " << n * n << "\\n";\n  }\n}\n',
  },
  go: {
    words: "any bool break byte case chan const continue default defer else error fallthrough false float64 for func go if import int interface map nil package range return rune select string struct switch true type var",
    sample: 'package main\n\nimport "fmt"\n\nfunc main() {\n\tfor n := 1; n <= 3; n++ {\n\t\tfmt.Printf("%d squared is %d\\n", n, n*n)\n\t}\n}\n',
    indent: "\t",
  },
  java: {
    words: C_LIKE + " abstract boolean byte char double extends final float implements import instanceof int interface long package record short super var",
    sample: 'public class Main {\n  public static void main(String[] args) {\n    for (int n = 1; n <= 3; n++) {\n      System.out.println(n + " squared is " + n * n);\n    }\n  }\n}\n',
  },
  lua: {
    comment: /--.*/,
    words: "and break do else elseif end false for function goto if in local nil not or repeat return then true until while",
    sample: 'for n = 1, 3 do\n  print(n .. " squared is " .. n * n)\nend\n',
  },
  node: {
    words: C_LIKE + " async await export extends from function import in instanceof let of super typeof undefined var yield",
    sample: "for (const n of [1, 2, 3]) {\n  console.log(`${n} squared is ${n * n}`);\n}\n",
  },
  "node-typescript": {
    words: C_LIKE + " any as async await boolean export extends from function implements import in instanceof interface let number of readonly string super type typeof undefined unknown var yield",
    sample: "const square = (n: number): number => n * n;\nfor (const n of [1, 2, 3]) {\n  console.log(`${n} squared is ${square(n)}`);\n}\n",
  },
  perl: {
    comment: /(?<=^|\s)#.*/,
    words: "and else elsif for foreach if last local my next not or our print printf return say strict sub unless until use warnings while",
    sample: 'use strict;\nuse warnings;\n\nfor my $n (1 .. 3) {\n  printf "%d squared is %d\\n", $n, $n * $n;\n}\n',
  },
  php: {
    comment: /\/\/.*|(?<=^|\s)#.*|\/\*[^]*?\*\//,
    words: C_LIKE + " abstract array as echo elseif extends fn foreach function implements interface isset namespace require use",
    sample: '<?php\nforeach ([1, 2, 3] as $n) {\n  echo "$n squared is ", $n * $n, "\\n";\n}\n',
  },
  python: {
    comment: /#.*/,
    words: "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
    sample: 'for n in range(1, 4):\n    print(f"{n} squared is {n * n}")\n',
    indent: "    ",
  },
  ruby: {
    comment: /(?<=^|\s)#.*/,
    words: "begin break case class def do else elsif end ensure false for if in module next nil not or puts require rescue return self super then true unless until when while yield",
    sample: '(1..3).each do |n|\n  puts "#{n} squared is #{n * n}"\nend\n',
  },
  rust: {
    words: "as async await bool break char const continue crate dyn else enum extern false fn for i32 i64 if impl in let loop match mod move mut pub ref return self static str struct super trait true type u32 u64 u8 unsafe use usize where while",
    text: /"(?:\\[^]|[^"\\])*"|'(?:\\.|[^'\\\n])'/,
    sample: 'fn main() {\n    for n in 1..=3 {\n        println!("{n} squared is {}", n * n);\n    }\n}\n',
    indent: "    ",
  },
};

const USUAL = {
  comment: /\/\/.*|\/\*[^]*?\*\//,
  text: /"""[^]*?"""|'''[^]*?'''|"(?:\\[^]|[^"\\\n])*"|'(?:\\[^]|[^'\\\n])*'|`(?:\\[^]|[^`\\])*`/,
  words: C_LIKE,
  sample: "",
  indent: "  ",
};

export function syntaxOf(id) {
  return {...USUAL, ...KNOWN[id]};
}

/// Returns an expression whose groups say what a piece of a program is.
export function tokensOf({comment, text, words}) {
  const kinds = [
    `(?<comment>${comment.source})`,
    `(?<text>${text.source})`,
    `(?<number>\\b\\d[\\w.]*)`,
    `(?<word>\\b(?:${words.split(" ").join("|")})\\b)`,
    `(?<call>\\b[A-Za-z_]\\w*!?(?=\\())`,
  ];
  return new RegExp(kinds.join("|"), "gm");
}
