import torch
from nets import Net
from trainers import ClassificationTrainer


def main(arguments, data):
    model = Net(3)
    trainer = ClassificationTrainer(model=model, args=arguments, train_dataset=data)
    trainer.train()


if __name__ == "__main__":
    main(None, None)
